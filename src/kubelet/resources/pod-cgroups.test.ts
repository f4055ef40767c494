import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import type { CgroupValues } from '../../host/cgroups.ts';
import { MemoryCgroups } from '../../host/fake/memory-cgroups.ts';
import type { Processes, ProcessIdentity } from '../../host/processes.ts';
import { examplePod, type PodChanges } from '../sync/config/pod.fixture.ts';
import { type CgroupSettings, podCgroupPath, podUidOfCgroup } from './cgroup-names.ts';
import { maxCgroupValues, podCgroupValues, podControllers } from './pod-cgroup-values.ts';
import { PodCgroups } from './pod-cgroups.ts';

const settings = { cgroupRoot: '/nodelet', cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, podPidsLimit: -1 };
const hostFacts = { hugePageSizes: [], cgroupVersion: 'v2' } as const;
const signal = new AbortController().signal;
const both = { cpu: '500m', memory: '64Mi' };
const burstable = { container: { resources: { requests: { cpu: '250m' } } } };
const guaranteed = { container: { resources: { requests: both, limits: both } } };

function agent() {
  const cgroups = new MemoryCgroups();
  const killed: number[] = [];
  const processes = {
    identify: async (pid: number): Promise<ProcessIdentity> => ({ pid, startTime: 1 }),
    kill: async ({ pid }: ProcessIdentity) => {
      killed.push(pid);
      cgroups.leave(pid);
    },
    waitForExit: async () => undefined,
  } as unknown as Processes; // other members are not used
  return { cgroups, killed, steps: new PodCgroups({ cgroups, processes, settings, hostFacts }) };
}

const paths: Record<string, { given: PodChanges; settings: CgroupSettings; path: string }> = {
  'BestEffort pods': { given: {}, settings: { cgroupRoot: '/' }, path: '/kubepods/besteffort/podu1' },
  'Burstable pods': { given: burstable, settings: { cgroupRoot: '/' }, path: '/kubepods/burstable/podu1' },
  'Guaranteed pods': { given: guaranteed, settings: { cgroupRoot: '/' }, path: '/kubepods/podu1' },
  'a configured root': { given: {}, settings: { cgroupRoot: '/a/b/' }, path: '/a/b/kubepods/besteffort/podu1' },
  systemd: {
    given: { ...burstable, metadata: { uid: '12-34' } },
    settings: { cgroupRoot: '/', cgroupDriver: 'systemd' },
    path: '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_34.slice',
  },
};

for (const [what, { given, settings: layout, path }] of Object.entries(paths)) {
  test(`podCgroupPath() of ${what}, and its inverse`, () => {
    const pod = examplePod(given);
    assert.equal(podCgroupPath(pod, layout), path);
    assert.equal(podUidOfCgroup(path.split('/').at(-1) ?? '', layout), pod.metadata.uid);
  });
}

test('podCgroupPath() rejects a UID that leads to another directory', () => {
  assert.throws(() => podCgroupPath(examplePod({ metadata: { uid: 'a/../..' } }), settings), /invalid pod UID/);
});

const init = { name: 'init', image: 'busybox' };
const limited = { container: { resources: { limits: both, requests: { cpu: '100m' } } } };

const values: Record<string, { given: PodChanges; settings?: Partial<typeof settings>; expected: CgroupValues }> = {
  'gives BestEffort pods the smallest weight': { given: {}, expected: { cpuShares: 2 } },
  'sets no limit that a container does not have': { given: burstable, expected: { cpuShares: 256 } },
  'limits what all containers limit': {
    given: limited,
    expected: {
      cpuShares: 102,
      cpuQuotaMicroseconds: 50_000,
      cpuPeriodMicroseconds: 100_000,
      memoryLimitBytes: 67_108_864,
    },
  },
  'counts an init container without limits': {
    given: { ...limited, spec: { initContainers: [init] } },
    expected: { cpuShares: 102 },
  },
  'adds the overhead': {
    given: { ...guaranteed, spec: { overhead: { cpu: '100m', memory: '1Mi' } } },
    expected: {
      cpuShares: 614,
      cpuQuotaMicroseconds: 60_000,
      cpuPeriodMicroseconds: 100_000,
      memoryLimitBytes: 68_157_440,
    },
  },
  'sets no CPU quota if the node does not enforce it': {
    given: guaranteed,
    settings: { cpuCfsQuota: false },
    expected: {
      cpuShares: 512,
      cpuQuotaMicroseconds: -1,
      cpuPeriodMicroseconds: 100_000,
      memoryLimitBytes: 67_108_864,
    },
  },
  'limits processes if the node does': {
    given: {},
    settings: { podPidsLimit: 100 },
    expected: { cpuShares: 2, pidsLimit: 100 },
  },
};

for (const [name, { given, settings: changed, expected }] of Object.entries(values)) {
  test(`podCgroupValues() ${name}`, () => {
    assert.deepEqual(podCgroupValues(examplePod(given), { ...settings, ...changed }), expected);
  });
}

test('podCgroupValues() allows a pod only the huge pages that it requests', () => {
  const huge = { 'hugepages-2Mi': '4Mi', 'hugepages-2048Ki': '2Mi' };
  const pod = examplePod({ container: { resources: { requests: huge, limits: huge } } });
  assert.deepEqual(podCgroupValues(pod, settings, { ...hostFacts, hugePageSizes: ['1GB', '2MB'] }), {
    cpuShares: 2,
    hugePageLimits: { '1GB': 0, '2MB': 6_291_456 },
  });
});

function withUid(pod: Pod, uid: string): Pod {
  return { ...pod, metadata: { ...pod.metadata, uid } };
}

test('PodCgroups weighs the Burstable cgroup by the sum of its requests', async () => {
  const { cgroups, steps } = agent();
  const pod = examplePod(burstable);
  const weight = () => cgroups.valuesOf('/nodelet/kubepods/burstable')?.cpuShares;
  await steps.prepare(withUid(pod, 'a'), signal);
  await steps.prepare(withUid(pod, 'b'), signal);
  await steps.prepare(withUid(pod, 'b'), signal);
  assert.equal(weight(), 512);
  await steps.release(withUid(pod, 'a'), signal);
  assert.equal(weight(), 256);
});

test('PodCgroups kills remaining processes of a pod that ends', async () => {
  const { cgroups, killed, steps } = agent();
  const pod = examplePod();
  await steps.prepare(pod, signal);
  await cgroups.create('/nodelet/kubepods/besteffort/podu1/c1');
  cgroups.enter('/nodelet/kubepods/besteffort/podu1/c1', 42);
  await steps.release(pod, signal);
  assert.deepEqual(killed, [42]);
  assert.deepEqual(await steps.existing(), []);
});

test('PodCgroups kills a cgroup as a whole where the kernel can', async () => {
  const { cgroups, killed, steps } = agent();
  const pod = examplePod();
  await steps.prepare(pod, signal);
  cgroups.enter('/nodelet/kubepods/besteffort/podu1', 42);
  cgroups.onKill = (pid) => cgroups.leave(pid);
  await steps.release(pod, signal);
  assert.deepEqual(killed, []);
  assert.deepEqual(await steps.existing(), []);
});

test('PodCgroups does not prepare a pod that needs a missing controller, and prepares others', async () => {
  const { cgroups, steps } = agent();
  cgroups.missingControllers.add('hugetlb');
  const huge = { 'hugepages-2Mi': '4Mi' };
  const pod = examplePod({ container: { resources: { requests: huge, limits: huge } } });
  const text =
    'cgroup /nodelet/kubepods/besteffort/podu1: the controller hugetlb is not available; boot a kernel that has it';
  await assert.rejects(steps.prepare(pod, signal), {
    name: 'PodError',
    reason: 'FailedCreatePodContainer',
    message: text,
    eventMessage: `unable to ensure pod container exists: failed to create container for [nodelet kubepods besteffort podu1] : ${text}`,
  });
  await steps.prepare(withUid(examplePod(), 'other'), signal);
});

const controllers: Record<string, { given: PodChanges; podPidsLimit?: number; needed: readonly string[] }> = {
  'weight and memory of every pod': { given: {}, needed: ['cpu', 'memory'] },
  'a limit of processes': { given: {}, podPidsLimit: 100, needed: ['cpu', 'memory', 'pids'] },
  'huge pages': {
    given: { container: { resources: { limits: { 'hugepages-2Mi': '4Mi' }, requests: { 'hugepages-2Mi': '4Mi' } } } },
    needed: ['cpu', 'memory', 'hugetlb'],
  },
};

for (const [name, { given, podPidsLimit = -1, needed }] of Object.entries(controllers)) {
  test(`podControllers() has those for ${name}`, () => {
    assert.deepEqual(podControllers(examplePod(given), { ...settings, podPidsLimit }), needed);
  });
}

test('PodCgroups releases a pod that was never prepared', async () => {
  await agent().steps.release(examplePod(guaranteed), signal);
});

test('PodCgroups finds and removes the cgroups of a previous process, and then their parents', async () => {
  const { cgroups, steps } = agent();
  await cgroups.create('/nodelet/kubepods/burstable/podold');
  await steps.prepare(examplePod(), signal);
  assert.deepEqual(await steps.existing(), ['old', 'u1']);

  await steps.release({ metadata: { uid: 'old', name: '', namespace: '' }, spec: { containers: [] } }, signal);
  await steps.removeAll({ includingRoot: true });
  assert.deepEqual(await cgroups.children('/nodelet/kubepods'), ['besteffort']);

  await steps.release(examplePod(), signal);
  await steps.removeAll({ includingRoot: true });
  assert.equal(await cgroups.exists('/nodelet'), false);
});

const less = { cpuShares: 51, cpuQuotaMicroseconds: 5000, cpuPeriodMicroseconds: 100_000, memoryLimitBytes: 100 };
const more = { cpuShares: 102, cpuQuotaMicroseconds: 9000, cpuPeriodMicroseconds: 100_000, memoryLimitBytes: 200 };

test('maxCgroupValues() is the larger value of each, and no limit if one has none', () => {
  assert.deepEqual(
    [maxCgroupValues(less, more), maxCgroupValues(more, less), maxCgroupValues(less, less)],
    [more, more, less],
  );
  const { memoryLimitBytes: _, ...open } = less;
  assert.deepEqual(maxCgroupValues(open, { ...more, cpuQuotaMicroseconds: -1 }), {
    cpuShares: 102,
    cpuQuotaMicroseconds: -1,
    cpuPeriodMicroseconds: 100_000,
  });
});

test('the cgroup of a pod shrinks only after its containers', async () => {
  const cgroups = new MemoryCgroups();
  const [small, large] = ['100m', '200m'].map((cpu) =>
    examplePod({ container: { resources: { requests: { cpu }, limits: { cpu } } } }),
  );
  assert.ok(small && large);
  let has = large;
  const processes = {} as Processes; // not used here
  const steps = new PodCgroups({ cgroups, processes, settings, hostFacts, actuated: () => has });
  const path = podCgroupPath(small, settings);
  await steps.prepare(small, signal);
  assert.equal(cgroups.valuesOf(path)?.cpuQuotaMicroseconds, 20_000);
  await steps.applyAllocated(small);
  has = small;
  assert.equal(cgroups.valuesOf(path)?.cpuQuotaMicroseconds, 10_000);
  await steps.prepare(large, signal);
  assert.equal(cgroups.valuesOf(path)?.cpuQuotaMicroseconds, 20_000);
});

test('the CPU time of a pod with exclusive CPUs is not limited', async () => {
  const cgroups = new MemoryCgroups();
  const processes = {} as Processes; // not used here
  const pod = examplePod(guaranteed);
  const path = podCgroupPath(pod, settings);
  for (const [isExclusive, quota] of [
    [false, 50_000],
    [true, -1],
  ] as const) {
    const steps = new PodCgroups({ cgroups, processes, settings, hostFacts, hasExclusiveCpus: () => isExclusive });
    await steps.prepare(pod, signal);
    assert.equal(cgroups.valuesOf(path)?.cpuQuotaMicroseconds, quota);
    await steps.applyAllocated(pod);
    assert.equal(cgroups.valuesOf(path)?.cpuQuotaMicroseconds, quota);
  }
});
