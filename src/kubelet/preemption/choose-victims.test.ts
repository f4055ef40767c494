import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { choosePodsToPreempt, type RequiredResource } from './choose-victims.ts';

type Amounts = readonly [cpuMilli: number, memoryMi: number];

function podOf(name: string, requests: Amounts | undefined, limits?: Amounts, priority?: number): Pod {
  const list = ([cpu, memory]: Amounts) => ({ cpu: `${cpu}m`, memory: `${memory}Mi` });
  const resources = { ...(requests && { requests: list(requests) }), ...(limits && { limits: list(limits) }) };
  const spec = priority === undefined ? {} : { priority };
  return examplePod({ metadata: { name, uid: name }, spec, container: { resources } });
}

const bestEffort = podOf('best-effort', undefined);
const burstable = podOf('burstable', [100, 100]);
const bigBurstable = podOf('big-burstable', [300, 300]);
const guaranteed = podOf('guaranteed', [100, 100], [100, 100]);
const bigGuaranteed = podOf('big-guaranteed', [300, 300], [300, 300]);
const clusterCritical = podOf('cluster-critical', [100, 100], undefined, 2_000_000_000);
const nodeCritical = podOf('node-critical', [100, 100], undefined, 2_000_001_000);
const all = [bestEffort, burstable, bigBurstable, guaranteed, bigGuaranteed];

interface Case {
  readonly preemptor?: Pod;
  readonly pods: readonly Pod[];
  readonly lacks: readonly [cpuMilli: number, memoryMi: number, pods: number];
  readonly victims: readonly Pod[] | undefined;
}

const CASES: Record<string, Case> = {
  'none when nothing is required': { pods: all, lacks: [0, 0, 0], victims: [] },
  'none where there are no pods': { pods: [], lacks: [0, 0, 1], victims: undefined },
  'a pod that frees exactly what is required': { pods: [burstable], lacks: [100, 100, 1], victims: [burstable] },
  'none when all of them free too little': { pods: [burstable], lacks: [200, 200, 2], victims: undefined },
  'best effort before burstable': { pods: [burstable, bestEffort], lacks: [0, 0, 1], victims: [bestEffort] },
  'burstable before guaranteed': { pods: [burstable, guaranteed], lacks: [0, 0, 1], victims: [burstable] },
  'the smaller one of two that suffice': {
    pods: [bestEffort, bigBurstable, burstable],
    lacks: [100, 100, 0],
    victims: [burstable],
  },
  'the larger one where the smaller one does not suffice': {
    pods: [bestEffort, burstable, bigBurstable],
    lacks: [150, 150, 0],
    victims: [bigBurstable],
  },
  'several pods': { pods: all, lacks: [350, 350, 0], victims: [bigBurstable, burstable] },
  'guaranteed pods where needed, and then no burstable pod too many': {
    pods: all,
    lacks: [0, 550, 0],
    victims: [bigBurstable, bigGuaranteed],
  },
  'no best effort pod for memory': { pods: [bestEffort], lacks: [0, 1, 0], victims: undefined },
  'no critical pod of the same priority': { pods: [clusterCritical], lacks: [0, 0, 1], victims: undefined },
  'a critical pod of a lower priority': {
    preemptor: nodeCritical,
    pods: [clusterCritical],
    lacks: [100, 0, 0],
    victims: [clusterCritical],
  },
  'no critical pod of a higher priority': { pods: [nodeCritical], lacks: [100, 0, 0], victims: undefined },
};

function required([cpu, memory, pods]: Case['lacks']): readonly RequiredResource[] {
  return [
    { resource: 'cpu', amount: BigInt(cpu) },
    { resource: 'memory', amount: BigInt(memory) * 1024n * 1024n },
    { resource: 'pods', amount: BigInt(pods) },
  ].filter(({ amount }) => amount > 0n);
}

for (const [what, { preemptor = clusterCritical, pods, lacks, victims }] of Object.entries(CASES)) {
  test(`choosePodsToPreempt() chooses ${what}`, () => {
    const choice = choosePodsToPreempt(preemptor, pods, required(lacks));
    const names = (list: readonly Pod[]): string[] => list.map(({ metadata }) => metadata.name);
    assert.deepEqual(choice.kind === 'victims' ? names(choice.victims) : undefined, victims && names(victims));
  });
}

test('choosePodsToPreempt() lists what cannot be freed, in kubelet’s words', () => {
  assert.deepEqual(choosePodsToPreempt(clusterCritical, [burstable], required([300, 0, 2])), {
    kind: 'impossible',
    error: 'no set of running pods found to reclaim resources: [(res: cpu, q: 200), (res: pods, q: 1), ]',
  });
});

test('choosePodsToPreempt() counts the overhead of a pod only with a request', () => {
  const withOverhead = (pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec, overhead: { cpu: '50m' } } });
  const choose = (pod: Pod) => choosePodsToPreempt(clusterCritical, [pod], [{ resource: 'cpu', amount: 150n }]).kind;
  assert.equal(choose(withOverhead(burstable)), 'victims');
  assert.equal(choose(withOverhead(bestEffort)), 'impossible');
});
