import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuSet } from '../../base/cpu-set.ts';
import { CpuTopology } from './cpu-details.ts';
import { HYBRID_MACHINE, type MachineName, machine } from './machines.fixture.ts';
import { splitAcrossNumaNodes } from './numa-split.ts';
import { parseStaticPolicyOptions } from './policy-options.ts';
import { NotEnoughCpusError, takeCpus } from './take-cpus.ts';

const GATES = { alphaOptions: true, betaOptions: true };

function take(name: MachineName, without: string, count: number, ...options: readonly string[]): string {
  const topology = new CpuTopology(machine(name).cpus);
  const parsed = parseStaticPolicyOptions(Object.fromEntries(options.map((option) => [option, 'true'])), GATES);
  return takeCpus(topology, topology.allCpus.difference(CpuSet.parse(without)), count, parsed).toString();
}

/** Recorded from kubelet, which changes the chosen combination of four nodes and more while it looks at the next ones. */
const distributed: readonly [count: number, cpus: string][] = [
  [30, '8-30,56-62'],
  [31, '8-31,56-62'],
  [32, '8-31,56-63'],
  [33, '8-14,16-22,24-30,32-37,40-45'],
  [40, '8-47'],
  [41, '8-14,16-22,24-30,32-38,40-46,56-61'],
  [48, '8-47,56-63'],
  [50, '8-22,24-30,32-38,40-46,48-54,56-62'],
];

for (const [count, cpus] of distributed) {
  test(`${count} CPUs are distributed across eight NUMA nodes as kubelet does`, () => {
    assert.equal(take('xeon-e7-8837-8s', '0', count, 'distribute-cpus-across-numa'), cpus);
  });
}

test('packed: whole sockets first, then cores, then the thread of a core that is in use already', () => {
  assert.equal(take('xeon-5218-2s-nosmt', '0', 18), '1-2,16-31');
  assert.equal(take('xeon-e-2288g', '0,8', 3), '1-2,9');
  assert.equal(take('xeon-e-2288g', '0,3', 1), '8');
});

test('spread: one thread of each core', () => {
  assert.equal(take('xeon-e-2288g', '0', 4, 'distribute-cpus-across-cores'), '1-4');
});

test('split caches: from one cache if it has enough', () => {
  assert.equal(take('epyc-7402p', '0,24', 6, 'prefer-align-cpus-by-uncorecache'), '3-5,27-29');
  assert.equal(take('epyc-7402p', '0,24', 6), '1-3,25-27');
});

test('more CPUs than are available are an error', () => {
  assert.throws(() => take('vm-4', '0', 4), NotEnoughCpusError);
});

test('a combination of NUMA nodes without enough whole cores is left out, for which kubelet never returns', () => {
  const numaNodes = [0, 1, 2, 3];
  const split = splitAcrossNumaNodes({
    numaNodes,
    available: new Map(numaNodes.map((node) => [node, 10])),
    machine: { cpus: 64, numaNodes: 4 },
    count: 28,
    groupSize: 4,
  });
  assert.deepEqual(split, { numaNodes, fromEach: 4, remainder: 12, remainderNodes: numaNodes });
});

test('only available CPUs are taken on a machine with two kinds of cores', () => {
  const topology = new CpuTopology(HYBRID_MACHINE.cpus);
  const options = parseStaticPolicyOptions({}, GATES);
  assert.equal(takeCpus(topology, CpuSet.parse('1-7'), 2, options).toString(), '1,4');
});
