import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import type { DiskLayout } from '../node/signals/disk-layout.ts';
import { apiPod, type PodFigures, podStats } from './fake-pods.fixture.ts';
import { limitsLocalStorage, storageViolation, violationMessage } from './local-storage.ts';

const data = (sizeLimit: string): Pod => apiPod('web', { volumes: [{ name: 'data', emptyDir: { sizeLimit } }] });
const limited = apiPod('web', {}, { resources: { limits: { 'ephemeral-storage': '1Ki' } } });

function violation(pod: Pod, figures: PodFigures, layout: DiskLayout = 'single'): string | undefined {
  const found = storageViolation(pod, podStats(pod, figures), layout);
  return found && violationMessage(found);
}

const cases: Record<string, { found: string | undefined; wanted: string | undefined }> = {
  'an emptyDir at its limit': { found: violation(data('1Ki'), { volumes: { data: 1024 } }), wanted: undefined },
  'an emptyDir over its limit': {
    found: violation(data('1Ki'), { volumes: { data: 1025 } }),
    wanted: 'Usage of EmptyDir volume "data" exceeds the limit "1Ki". ',
  },
  'an emptyDir with a limit of zero, which limits nothing': {
    found: violation(data('0'), { volumes: { data: 1 } }),
    wanted: undefined,
  },
  'an emptyDir that was not measured': { found: violation(data('1Ki'), {}), wanted: undefined },
  'a pod over the limits of its containers': {
    found: violation(limited, { storage: 1025 }),
    wanted: 'Pod ephemeral local storage usage exceeds the total limit of containers 1Ki. ',
  },
  'a container over its limit': {
    found: violation(limited, { root: 1000, logs: 25 }),
    wanted: 'Container main exceeded its local ephemeral storage limit "1Ki". ',
  },
  'a container whose layer is on another disk': {
    found: violation(limited, { root: 1025, logs: 24 }, 'dedicatedImages'),
    wanted: undefined,
  },
  'a pod without limits': { found: violation(apiPod('web'), { root: 1e9, storage: 1e9 }), wanted: undefined },
};

for (const [name, { found, wanted }] of Object.entries(cases)) {
  test(`storageViolation() of ${name}`, () => assert.equal(found, wanted));
}

test('limitsLocalStorage() finds pods with a limit', () => {
  assert.deepEqual([data('1'), limited, apiPod('web')].map(limitsLocalStorage), [true, true, false]);
});
