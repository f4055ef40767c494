import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { DEFAULT_HANDLER, type HandlerSettings } from '../settings/runtime-settings.ts';
import { buildContainerSpec } from './container-spec.ts';
import type { HostDevice } from './devices.ts';
import { createFactSources, gatherFacts } from './gather-facts.ts';
import { noAppArmor } from './load-apparmor-profile.ts';
import { buildPauseSpec } from './pause-spec.ts';
import type { SpecRequest } from './spec-request.ts';
import {
  containerConfig,
  differences,
  MACHINE,
  sandboxConfig,
  validFacts,
  validRequest,
} from './testing/valid-request.ts';

const PATTERNS = { podAnnotations: ['example.com/*'], containerAnnotations: ['device.example.com/*', 'exact'] };
const POD_ANNOTATIONS = {
  'example.com/profile': 'fast',
  'example.com/deep/path': 'no: a star matches no slash',
  'other.com/profile': 'no',
  'run.oci.handler': 'no: controls crun',
  'io.kubernetes.cri.sandbox-id': 'forged',
};
const CONTAINER_ANNOTATIONS = { 'device.example.com/gpu': '0', exact: 'yes', exactly: 'no', 'example.com/x': 'no' };

const handlerOf = (settings: Partial<HandlerSettings>): HandlerSettings => ({ ...DEFAULT_HANDLER, ...settings });

test('annotations are passed on that a pattern of the handler matches, and none by default', () => {
  const container = containerConfig({ annotations: CONTAINER_ANNOTATIONS });
  const sandbox = sandboxConfig({ annotations: POD_ANNOTATIONS });
  const specOf = (handler: HandlerSettings) =>
    buildContainerSpec(validRequest({ container, sandbox, handler }), validFacts());
  assert.deepEqual(differences(buildContainerSpec(validRequest(), validFacts()), specOf(DEFAULT_HANDLER)), {});
  assert.deepEqual(differences(specOf(DEFAULT_HANDLER), specOf(handlerOf(PATTERNS))), {
    'annotations.example.com/profile': 'fast',
    'annotations.device.example.com/gpu': '0',
    'annotations.exact': 'yes',
  });
});

test('neither a pattern nor a forged annotation replaces those of the runtime', () => {
  const sandbox = sandboxConfig({ annotations: POD_ANNOTATIONS });
  const handler = handlerOf({ podAnnotations: ['*'] });
  const { annotations } = buildContainerSpec(validRequest({ sandbox, handler }), validFacts());
  assert.equal(annotations['io.kubernetes.cri.sandbox-id'], 's1');
  assert.equal(annotations['run.oci.handler'], undefined);
});

test('the pause container gets the annotations of the pod, and the cgroup driver of the handler', () => {
  const config = sandboxConfig({
    annotations: POD_ANNOTATIONS,
    linux: { cgroupParent: '/kubepods.slice/kubepods-pod1.slice' },
  });
  const request = { sandboxId: 's1', config, rootfs: '/r', pauseProgram: '/p', pinned: {}, machine: MACHINE };
  const plain = buildPauseSpec({ ...request, handler: DEFAULT_HANDLER });
  const changed = buildPauseSpec({ ...request, handler: handlerOf({ ...PATTERNS, cgroupDriver: 'systemd' }) });
  assert.deepEqual(differences(plain, changed), {
    'annotations.example.com/profile': 'fast',
    'linux.cgroupsPath': 'kubepods-pod1.slice:cri-nodelet:s1',
  });
});

test('a container starts from the base spec of its handler, and its own values override it', () => {
  const hooks = { createRuntime: [{ path: '/usr/bin/hook' }] };
  const rlimits = [{ type: 'RLIMIT_NOFILE', soft: 1024, hard: 1024 }];
  const base = {
    rlimits,
    hooks,
    env: ['A=base', 'B=base', 'HOSTNAME=base'],
    annotations: { 'example.com/base': '1', 'io.kubernetes.cri.sandbox-id': 'base' },
  };
  const container = containerConfig({ envs: [{ key: 'B', value: new TextEncoder().encode('own') }] });
  const specOf = (handler: HandlerSettings) => buildContainerSpec(validRequest({ container, handler }), validFacts());
  const plain = specOf(DEFAULT_HANDLER);
  assert.deepEqual(differences(plain, specOf(handlerOf({ baseSpec: base }))), {
    'process.env': ['A=base', 'B=own', 'HOSTNAME=pod', plain.process.env[0]],
    'process.rlimits': rlimits,
    'annotations.example.com/base': '1',
    hooks,
  });
});

test('a writable cgroup file system changes only that mount', () => {
  const cgroupMount = (handler: HandlerSettings) => {
    const { mounts } = buildContainerSpec(validRequest({ handler }), validFacts());
    return mounts.flatMap(({ destination, options }) => (destination.startsWith('/sys') ? [options.at(-1)] : []));
  };
  assert.deepEqual(cgroupMount(DEFAULT_HANDLER), ['ro', 'ro']);
  assert.deepEqual(cgroupMount(handlerOf({ cgroupWritable: true })), ['ro', 'rw']);
});

test('a container has the cgroup driver of its handler', () => {
  const sandbox = sandboxConfig({ linux: { cgroupParent: '/kubepods-pod1.slice', securityContext: {} } });
  const pathOf = (handler: HandlerSettings) =>
    buildContainerSpec(validRequest({ sandbox, handler }), validFacts()).linux.cgroupsPath;
  assert.deepEqual([DEFAULT_HANDLER, handlerOf({ cgroupDriver: 'systemd' })].map(pathOf), [
    '/kubepods-pod1.slice/c1',
    'kubepods-pod1.slice:cri-nodelet:c1',
  ]);
});

const device = (path: string, minor: number): HostDevice => ({
  path,
  type: 'c',
  major: 10,
  minor,
  fileMode: 0o600,
  uid: 0,
  gid: 0,
});
const KVM = device('/dev/kvm', 232);
const FUSE = device('/dev/fuse', 229);
const allows = (minor: number) => ({ allow: true, type: 'c', major: 10, minor, access: 'rw' });
const [NOTHING, EVERYTHING] = [
  { allow: false, access: 'rwm' },
  { allow: true, access: 'rwm' },
];

/** Devices and rules of a container that requests /dev/fuse. */
const privileged: Record<HandlerSettings['privilegedDevices'], { paths: string[]; rules: unknown }> = {
  host: { paths: ['/dev/kvm', '/dev/fuse'], rules: [EVERYTHING] },
  requested: { paths: ['/dev/fuse'], rules: [NOTHING, allows(229)] },
  requestedWithAllAllowed: { paths: ['/dev/fuse'], rules: [EVERYTHING] },
};

function requestWith(settings: Partial<HandlerSettings>, isPrivileged: boolean): SpecRequest {
  return validRequest({
    container: containerConfig({
      devices: [{ hostPath: '/dev/fuse', containerPath: '/dev/fuse', permissions: 'rw' }],
      linux: { securityContext: { privileged: isPrivileged } },
    }),
    sandbox: sandboxConfig({
      linux: { cgroupParent: '/kubepods/pod1', securityContext: { privileged: isPrivileged } },
    }),
    handler: handlerOf(settings),
  });
}

for (const [name, { paths, rules }] of Object.entries(privileged)) {
  const settings = { privilegedDevices: name as HandlerSettings['privilegedDevices'] };
  const facts = validFacts({ devices: new Map([[0, [FUSE]]]), hostDevices: [KVM] });
  const devicesOf = (isPrivileged: boolean) => {
    const { linux } = buildContainerSpec(requestWith(settings, isPrivileged), facts);
    return { paths: linux.devices.map(({ path }) => path), rules: linux.resources.devices };
  };

  test(`devices of a privileged container with ${name}`, () => {
    assert.deepEqual(devicesOf(true), { paths, rules });
  });

  test(`devices of any other container with ${name}`, () => {
    assert.deepEqual(devicesOf(false), { paths: ['/dev/fuse'], rules: [NOTHING, allows(229)] });
  });
}

test('the devices of the machine are gathered only for containers that get them', async () => {
  const { fs } = createMemoryHost();
  const sources = createFactSources({ fs, appArmor: noAppArmor, cdiSpecDirs: [] });
  const request = requestWith({ privilegedDevices: 'requested' }, true);
  const gathered = await gatherFacts({ ...request, container: { ...request.container, devices: [] } }, sources);
  assert.deepEqual(gathered.hostDevices, []);
});
