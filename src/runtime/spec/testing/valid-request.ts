/** A valid container request with its facts. */
import { isDeepStrictEqual } from 'node:util';
import { ContainerConfig, PodSandboxConfig } from '../../../cri/generated/runtime-v1.ts';
import { DEFAULT_HANDLER } from '../../settings/runtime-settings.ts';
import { APPARMOR_DISABLED } from '../apparmor-default.ts';
import { ALL_CAPABILITIES } from '../capabilities.ts';
import type { SpecFacts } from '../spec-facts.ts';
import type { SpecMachine, SpecRequest } from '../spec-request.ts';

export type Config = Parameters<typeof ContainerConfig.fromPartial>[0];
export type Sandbox = Parameters<typeof PodSandboxConfig.fromPartial>[0];

export const MACHINE: SpecMachine = {
  cgroupVersion: 'v1',
  cgroupDriver: 'cgroupfs',
  hugePages: true,
  appArmor: false,
  selinux: false,
  ownOomScoreAdj: 0,
  mayLowerOomScore: true,
  architecture: 'amd64',
  kernel: '6.18.44-fc',
  hostname: 'node-1',
  capabilities: ALL_CAPABILITIES,
  swapAccounting: true,
  seccomp: true,
};

export function containerConfig(config: Config = {}): ContainerConfig {
  return ContainerConfig.fromPartial({ metadata: { name: 'web' }, command: ['/bin/web'], ...config });
}

export function sandboxConfig(sandbox: Sandbox = {}): PodSandboxConfig {
  return PodSandboxConfig.fromPartial({
    metadata: { name: 'pod', namespace: 'default', uid: 'uid-1' },
    hostname: 'pod',
    linux: { cgroupParent: '/kubepods/pod1', securityContext: {} },
    ...sandbox,
  });
}

export function validRequest(change: Partial<SpecRequest> = {}): SpecRequest {
  return {
    id: 'c1',
    container: containerConfig(),
    sandboxId: 's1',
    sandbox: sandboxConfig(),
    image: { user: '', env: [], entrypoint: [], cmd: [], workingDir: '', stopSignal: '', volumes: [], labels: {} },
    imageName: 'docker.io/library/web:1',
    imageId: 'sha256:1',
    rootfs: '/run/n/containers/c1/rootfs',
    namespaces: { network: '/ns/net', ipc: '/ns/ipc', uts: '/ns/uts', pid: '/ns/pid' },
    files: { hosts: '/s1/hosts', hostname: '/s1/hostname', resolvConf: '/s1/resolv.conf', shm: '/s1/shm' },
    imageVolumes: new Map(),
    volumesDir: '/data/volumes',
    features: { recursiveReadOnlyMounts: true, userNamespaces: true, idmappedMounts: true },
    handler: DEFAULT_HANDLER,
    machine: MACHINE,
    ...change,
  };
}

export function validFacts(change: Partial<SpecFacts> = {}): SpecFacts {
  return {
    accounts: {
      users: [
        { name: 'root', uid: 0, gid: 0 },
        { name: 'alice', uid: 1000, gid: 1001 },
      ],
      groups: [
        { name: 'root', gid: 0, members: [] },
        { name: 'staff', gid: 50, members: ['alice'] },
        { name: 'alice', gid: 1001, members: ['alice'] },
      ],
    },
    mountSources: new Map(),
    devices: new Map(),
    hostDevices: [],
    appArmor: APPARMOR_DISABLED,
    cdi: [],
    ...change,
  };
}

/** Returns the paths at which two values differ, with the new values; lists are compared as a whole. */
export function differences(before: unknown, after: unknown, path = ''): Record<string, unknown> {
  if (isDeepStrictEqual(before, after)) return {};
  if (!isPlain(before) || !isPlain(after)) return { [path]: after };
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const nested = keys.map((key) => differences(before[key], after[key], path === '' ? key : `${path}.${key}`));
  return Object.assign({}, ...nested);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
