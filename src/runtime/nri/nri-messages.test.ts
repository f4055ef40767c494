import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerConfig, PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecordState } from '../store/container-record.ts';
import { sampleContainer, sampleSandbox, sampleSpec } from './fake/sample-records.ts';
import { Container, ContainerState, PodSandbox } from './generated/nri-v1alpha1.ts';
import { nriContainer } from './nri-container.ts';
import { nriPod } from './nri-pod.ts';

test('nriPod() converts a sandbox', () => {
  const config = PodSandboxConfig.fromPartial({
    ...sampleSandbox().config,
    linux: { cgroupParent: '/kubepods/pod1', overhead: { cpuShares: 2n }, resources: { memoryLimitInBytes: 3n } },
  });
  const idMap = { uids: [], gids: [] };
  const sandbox = sampleSandbox({
    config,
    runtimeHandler: 'crun',
    namespaces: { network: '/ns/net', user: { path: '/ns/user', idMap } },
  });
  const cpu = { quota: { value: 0n }, period: { value: 0n } };
  assert.deepEqual(
    nriPod(sandbox),
    PodSandbox.fromPartial({
      id: 'p1',
      name: 'web',
      uid: 'uid-1',
      namespace: 'default',
      labels: { app: 'web' },
      annotations: { 'example.com/pod': 'yes' },
      runtimeHandler: 'crun',
      ips: ['10.0.0.5'],
      linux: {
        podOverhead: { cpu: { shares: { value: 2n }, ...cpu }, memory: { limit: { value: 0n } } },
        podResources: { cpu: { shares: { value: 0n }, ...cpu }, memory: { limit: { value: 3n } } },
        cgroupParent: '/kubepods/pod1',
        namespaces: [
          { type: 'network', path: '/ns/net' },
          { type: 'user', path: '/ns/user' },
        ],
      },
    }),
  );
});

test('nriContainer() converts a container', () => {
  const config = ContainerConfig.fromPartial({
    metadata: { name: 'app', attempt: 0 },
    labels: { tier: 'front' },
    annotations: { own: '1' },
    CDIDevices: [{ name: 'v/c=1' }],
    linux: { securityContext: { seccomp: { profileType: 2, localhostRef: '/profile.json' } } },
  });
  const spec = {
    ...sampleSpec,
    process: {
      ...sampleSpec.process,
      ioPriority: { class: 'IOPRIO_CLASS_BE', priority: 4 },
      scheduler: { policy: 'SCHED_FIFO', priority: 9, flags: ['SCHED_FLAG_RECLAIM'] },
    },
    hooks: { poststop: [{ path: '/h', timeout: 3 }] },
  };
  const record = sampleContainer({ config, spec, state: { phase: 'running', pid: 42, startedAtNs: 9n } });
  assert.deepEqual(
    nriContainer(record),
    Container.fromPartial({
      id: 'c1',
      podSandboxId: 'p1',
      name: 'app',
      state: ContainerState.CONTAINER_RUNNING,
      labels: { tier: 'front' },
      annotations: { 'example.com/kept': 'yes', own: '1' },
      args: ['/bin/app', '--quiet'],
      env: ['PATH=/bin', 'COLOR=red'],
      mounts: [
        { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid'] },
        { destination: '/old', type: 'bind', source: '/srv/old', options: ['rbind'] },
      ],
      hooks: { poststop: [{ path: '/h', timeout: { value: 3n } }] },
      pid: 42,
      rlimits: [{ type: 'RLIMIT_CORE', soft: 0n, hard: 0n }],
      createdAt: 2n,
      startedAt: 9n,
      CDIDevices: [{ name: 'v/c=1' }],
      user: { uid: 1000, gid: 1000, additionalGids: [2000] },
      linux: {
        namespaces: [{ type: 'pid' }, { type: 'network', path: '/run/ns/net' }],
        devices: [{ path: '/dev/null', type: 'c', major: 1n, minor: 3n }],
        resources: {
          devices: [{ allow: false, access: 'rwm' }],
          cpu: { shares: { value: 512n } },
          memory: { limit: { value: 1000n }, swap: { value: 1000n } },
        },
        oomScoreAdj: { value: 900n },
        cgroupsPath: '/kubepods/c1',
        ioPriority: { class: 2, priority: 4 },
        seccompProfile: { profileType: 2, localhostRef: '/profile.json' },
        scheduler: { policy: 2, priority: 9, flags: [1] },
      },
    }),
  );
});

const states: ReadonlyArray<readonly [ContainerRecordState, Partial<Container>]> = [
  [{ phase: 'creating' }, { state: ContainerState.CONTAINER_UNKNOWN }],
  [{ phase: 'created' }, { state: ContainerState.CONTAINER_CREATED }],
  [{ phase: 'starting' }, { state: ContainerState.CONTAINER_CREATED }],
  [
    { phase: 'exited', startedAtNs: 5n, finishedAtNs: 6n, exitCode: 1, reason: 'Error', message: 'oh' },
    {
      state: ContainerState.CONTAINER_STOPPED,
      startedAt: 5n,
      finishedAt: 6n,
      exitCode: 1,
      statusReason: 'Error',
      statusMessage: 'oh',
    },
  ],
];

for (const [life, fields] of states) {
  test(`nriContainer() converts a container that is ${life.phase}`, () => {
    const { spec: _none, ...bare } = sampleContainer({ state: life });
    const base = { id: 'c1', podSandboxId: 'p1', name: 'app', labels: { tier: 'front' }, createdAt: 2n };
    assert.deepEqual(nriContainer(bare), Container.fromPartial({ ...base, ...fields }));
  });
}
