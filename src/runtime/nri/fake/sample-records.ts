import { ContainerConfig, PodSandboxConfig } from '../../../cri/generated/runtime-v1.ts';
import type { OciSpec } from '../../oci/oci-spec.ts';
import type { ContainerRecord } from '../../store/container-record.ts';
import type { SandboxRecord } from '../../store/sandbox-record.ts';

/** A small specification with an example of everything that plugins adjust. */
export const sampleSpec: OciSpec = {
  ociVersion: '1.1.0',
  process: {
    terminal: false,
    user: { uid: 1000, gid: 1000, additionalGids: [2000] },
    args: ['/bin/app', '--quiet'],
    env: ['PATH=/bin', 'COLOR=red'],
    cwd: '/',
    capabilities: { bounding: [], effective: [], permitted: [] },
    rlimits: [{ type: 'RLIMIT_CORE', soft: 0, hard: 0 }],
    noNewPrivileges: true,
    oomScoreAdj: 900,
  },
  root: { path: '/rootfs', readonly: false },
  mounts: [
    { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid'] },
    { destination: '/old', type: 'bind', source: '/srv/old', options: ['rbind'] },
  ],
  annotations: { 'example.com/kept': 'yes' },
  linux: {
    namespaces: [{ type: 'pid' }, { type: 'network', path: '/run/ns/net' }],
    devices: [{ path: '/dev/null', type: 'c', major: 1, minor: 3 }],
    cgroupsPath: '/kubepods/c1',
    resources: {
      devices: [{ allow: false, access: 'rwm' }],
      cpu: { shares: 512 },
      memory: { limit: 1000, swap: 1000 },
    },
    maskedPaths: [],
    readonlyPaths: [],
  },
};

export function sampleSandbox(change: Partial<SandboxRecord> = {}): SandboxRecord {
  return {
    id: 'p1',
    config: PodSandboxConfig.fromPartial({
      metadata: { name: 'web', uid: 'uid-1', namespace: 'default', attempt: 0 },
      labels: { app: 'web' },
      annotations: { 'example.com/pod': 'yes' },
      linux: { cgroupParent: '/kubepods/pod1' },
    }),
    runtimeHandler: '',
    createdAtNs: 1n,
    state: { phase: 'ready' },
    namespaces: { network: '/run/ns/net' },
    pause: false,
    ips: ['10.0.0.5'],
    networkResults: {},
    ...change,
  };
}

export function sampleContainer(change: Partial<ContainerRecord> = {}): ContainerRecord {
  return {
    id: 'c1',
    sandboxId: 'p1',
    config: ContainerConfig.fromPartial({ metadata: { name: 'app', attempt: 0 }, labels: { tier: 'front' } }),
    imageId: 'sha256:1',
    imageRef: 'sha256:1',
    runtimeHandler: '',
    createdAtNs: 2n,
    stopSignal: 'SIGTERM',
    logPath: '',
    spec: sampleSpec,
    state: { phase: 'created' },
    ...change,
  };
}
