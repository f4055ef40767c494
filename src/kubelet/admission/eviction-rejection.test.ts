import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { apiPod } from '../eviction/fake-pods.fixture.ts';
import type { PressureCondition } from '../node/signals/pressure-condition.ts';
import { evictionRejection } from './eviction-rejection.ts';

const burstable = apiPod('web', {}, { resources: { requests: { memory: '1Mi' } } });
const tolerating = (effect?: string): Pod =>
  apiPod('web', {
    tolerations: [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', ...(effect && { effect }) }],
  });
const fromFile: Pod = {
  ...apiPod('web'),
  metadata: { ...apiPod('web').metadata, annotations: { 'kubernetes.io/config.source': 'file' } },
};

const rejected = (pod: Pod, ...conditions: PressureCondition[]): string | undefined =>
  evictionRejection(pod, new Set(conditions))?.message;

const cases: Record<string, { message: string | undefined; wanted: string | undefined }> = {
  'any pod without pressure': { message: rejected(apiPod('web')), wanted: undefined },
  'a best-effort pod under memory pressure': {
    message: rejected(apiPod('web'), 'MemoryPressure'),
    wanted: 'The node had condition: [MemoryPressure]. ',
  },
  'a burstable pod under memory pressure': { message: rejected(burstable, 'MemoryPressure'), wanted: undefined },
  'a pod that tolerates the taint': { message: rejected(tolerating(), 'MemoryPressure'), wanted: undefined },
  'a pod that tolerates another effect': {
    message: rejected(tolerating('NoExecute'), 'MemoryPressure'),
    wanted: 'The node had condition: [MemoryPressure]. ',
  },
  'a burstable pod under disk pressure': {
    message: rejected(burstable, 'DiskPressure'),
    wanted: 'The node had condition: [DiskPressure]. ',
  },
  'a burstable pod under memory and other pressure': {
    message: rejected(burstable, 'MemoryPressure', 'PIDPressure'),
    wanted: 'The node had condition: [MemoryPressure PIDPressure]. ',
  },
  'a static pod under disk pressure': { message: rejected(fromFile, 'DiskPressure'), wanted: undefined },
  'a critical pod under disk pressure': {
    message: rejected(apiPod('web', { priority: 2_000_000_000 }), 'DiskPressure'),
    wanted: undefined,
  },
};

for (const [name, { message, wanted }] of Object.entries(cases)) {
  test(`evictionRejection() of ${name}`, () => assert.equal(message, wanted));
}
