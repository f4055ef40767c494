import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerStatus } from '../../cri/generated/runtime-v1.ts';
import { observedContainer } from './inspect-pod.ts';

const cases: Record<string, { path: string; mounted: string; file: string | undefined }> = {
  'is mounted at the path': { path: '/dev/log', mounted: '/dev/log', file: '/on-host' },
  'is found by a relative path': { path: 'tm/log', mounted: '/tm/log', file: '/on-host' },
  'is found by a path that is not normalized': { path: '/dev/../tm//log', mounted: '/tm/log', file: '/on-host' },
  'is undefined when it is mounted elsewhere': { path: '/dev/log', mounted: '/log', file: undefined },
  'is undefined without a path': { path: '', mounted: '/', file: undefined },
};

for (const [name, { path, mounted, file }] of Object.entries(cases)) {
  test(`the termination message file ${name}`, () => {
    const status = ContainerStatus.fromPartial({
      annotations: { 'io.kubernetes.container.terminationMessagePath': path },
      mounts: [{ containerPath: mounted, hostPath: '/on-host' }],
    });
    assert.equal(observedContainer(status, 's').terminationMessageFile, file);
  });
}
