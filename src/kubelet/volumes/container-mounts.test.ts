import assert from 'node:assert/strict';
import test from 'node:test';
import type { VolumeMount } from '../../api/generated/core-v1.ts';
import { exampleContainer, examplePod } from '../sync/config/pod.fixture.ts';
import { protoJson } from '../sync/config/proto-json.fixture.ts';
import { containerMounts, needsHostsFile } from './container-mounts.ts';

const volumes = new Map([
  ['data', '/v/data'],
  ['host', '/srv'],
]);
const files = { hostsFile: '/pods/u1/etc-hosts', terminationLog: '/pods/u1/containers/web/1' };
const hosts = { containerPath: '/etc/hosts', hostPath: '/pods/u1/etc-hosts' };
const message = { containerPath: '/dev/termination-log', hostPath: '/pods/u1/containers/web/1' };

function mountsOf(
  volumeMounts: readonly VolumeMount[],
  given = files as Parameters<typeof containerMounts>[0]['files'],
) {
  return protoJson(containerMounts({ container: { ...exampleContainer, volumeMounts }, volumes, files: given }));
}

const cases: Record<string, { mounts: readonly VolumeMount[]; expected: readonly object[] }> = {
  'mounts kubelet’s own files': { mounts: [], expected: [hosts, message] },
  'mounts volumes first, as declared': {
    mounts: [
      { name: 'host', mountPath: '/srv', readOnly: true, mountPropagation: 'HostToContainer' },
      { name: 'data', mountPath: 'data', mountPropagation: 'None' },
      { name: 'data', mountPath: '/again', mountPropagation: 'Bidirectional' },
    ],
    expected: [
      { containerPath: '/srv', hostPath: '/srv', readonly: true, propagation: 'PROPAGATION_HOST_TO_CONTAINER' },
      { containerPath: '/data', hostPath: '/v/data' },
      { containerPath: '/again', hostPath: '/v/data', propagation: 'PROPAGATION_BIDIRECTIONAL' },
      hosts,
      message,
    ],
  },
  'leaves /etc/hosts to a volume': {
    mounts: [{ name: 'data', mountPath: '/etc/hosts' }],
    expected: [{ containerPath: '/etc/hosts', hostPath: '/v/data' }, message],
  },
};

for (const [name, { mounts, expected }] of Object.entries(cases)) {
  test(`containerMounts() ${name}`, () => {
    assert.deepEqual(mountsOf(mounts), expected);
  });
}

test('containerMounts() mounts no file that was not made', () => {
  assert.deepEqual(mountsOf([], { hostsFile: undefined, terminationLog: undefined }), []);
});

test('containerMounts() refuses a volume that is not there', () => {
  assert.throws(() => mountsOf([{ name: 'nope', mountPath: '/x' }]), {
    reason: 'CreateContainerConfigError',
    message: 'cannot find volume "nope" to mount into container "web"',
    eventMessage: 'Error: cannot find volume "nope" to mount into container "web"',
  });
});

test('needsHostsFile() once the pod has an address, or none of its own', () => {
  const onHost = examplePod({ spec: { hostNetwork: true } });
  assert.deepEqual(
    [needsHostsFile(examplePod(), []), needsHostsFile(examplePod(), ['10.0.0.1']), needsHostsFile(onHost, [])],
    [false, true, true],
  );
});
