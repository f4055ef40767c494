import assert from 'node:assert/strict';
import test from 'node:test';
import type { VolumeMount } from '../../api/generated/core-v1.ts';
import { ImageSpec } from '../../cri/generated/runtime-v1.ts';
import { exampleContainer, examplePod } from '../sync/config/pod.fixture.ts';
import { protoJson } from '../sync/config/proto-json.fixture.ts';
import { containerMounts, needsHostsFile } from './container-mounts.ts';
import { imageMounts } from './image-volumes.ts';
import type { ContainerVolume } from './volume-plugin.ts';

const volumes = new Map<string, ContainerVolume>([
  ['data', { path: '/v/data', readOnly: false, isRelabelled: true }],
  ['host', { path: '/srv', readOnly: false }],
  ['config', { path: '/v/config', readOnly: true }],
  ['model', { image: { reference: 'model:1' }, readOnly: true }],
]);
const modelImage = ImageSpec.fromPartial({ image: 'id-of-model' });
const files = { hostsFile: '/pods/u1/etc-hosts', terminationLog: '/pods/u1/containers/web/1' };
const hosts = { containerPath: '/etc/hosts', hostPath: '/pods/u1/etc-hosts' };
const message = { containerPath: '/dev/termination-log', hostPath: '/pods/u1/containers/web/1' };

function mountsOf(volumeMounts: readonly VolumeMount[], given: Partial<Parameters<typeof containerMounts>[0]> = {}) {
  const container = { ...exampleContainer, volumeMounts };
  const images = imageMounts(container, new Map([['model', modelImage]]), () => undefined);
  return protoJson(containerMounts({ container, volumes, subPaths: new Map(), images, files, ...given }));
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
  'mounts generated content read-only even if the container does not ask for it': {
    mounts: [{ name: 'config', mountPath: '/config', readOnly: false }],
    expected: [{ containerPath: '/config', hostPath: '/v/config', readonly: true }, hosts, message],
  },
  'mounts an image read-only, without a path of the host': {
    mounts: [
      { name: 'model', mountPath: '/model', readOnly: false },
      { name: 'model', mountPath: '/part', subPath: 'weights' },
    ],
    expected: [
      { containerPath: '/model', image: { image: 'id-of-model' }, readonly: true },
      { containerPath: '/part', image: { image: 'id-of-model' }, imageSubPath: 'weights', readonly: true },
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

const recursive: VolumeMount = { name: 'data', mountPath: '/a', readOnly: true, recursiveReadOnly: 'Enabled' };

test('containerMounts() makes nested mounts read-only too, if the runtime supports it', () => {
  const [mount] = mountsOf([recursive], { supportsRecursiveReadOnly: true }) as object[];
  assert.deepEqual(mount, { containerPath: '/a', hostPath: '/v/data', readonly: true, recursiveReadOnly: true });
});

test('containerMounts() relabels volumes of the pod if SELinux is enabled', () => {
  const mounts = [
    { name: 'data', mountPath: '/data' },
    { name: 'host', mountPath: '/srv' },
  ];
  assert.deepEqual(mountsOf(mounts, { seLinuxEnabled: true }), [
    { containerPath: '/data', hostPath: '/v/data', selinuxRelabel: true },
    { containerPath: '/srv', hostPath: '/srv' },
    { ...hosts, selinuxRelabel: true },
    { ...message, selinuxRelabel: true },
  ]);
});

test('containerMounts() reports that the runtime does not support recursive read-only mounts', () => {
  const why = 'volume "data" requested recursive read-only mode, but it is not supported by the runtime';
  assert.throws(() => mountsOf([recursive]), {
    reason: 'CreateContainerConfigError',
    message: `failed to resolve recursive read-only mode: ${why}`,
  });
});

test('containerMounts() mounts no file that was not created', () => {
  assert.deepEqual(mountsOf([], { files: { hostsFile: undefined, terminationLog: undefined } }), []);
});

test('containerMounts() mounts subPaths from their bind mounts', () => {
  const declared = [
    { name: 'data', mountPath: '/a' },
    { name: 'data', mountPath: '/b', subPath: 'b' },
  ];
  assert.deepEqual(mountsOf(declared, { subPaths: new Map([[1, '/subpaths/1']]) }), [
    { containerPath: '/a', hostPath: '/v/data' },
    { containerPath: '/b', hostPath: '/subpaths/1' },
    hosts,
    message,
  ]);
});

test('containerMounts() rejects a volume that does not exist', () => {
  assert.throws(() => mountsOf([{ name: 'nope', mountPath: '/x' }]), {
    reason: 'CreateContainerConfigError',
    message: 'cannot find volume "nope" to mount into container "web"',
    eventMessage: 'Error: cannot find volume "nope" to mount into container "web"',
  });
});

test('needsHostsFile() is true once the pod has an address, or for the host network', () => {
  const onHost = examplePod({ spec: { hostNetwork: true } });
  assert.deepEqual(
    [needsHostsFile(examplePod(), []), needsHostsFile(examplePod(), ['10.0.0.1']), needsHostsFile(onHost, [])],
    [false, true, true],
  );
});
