import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TopologyHint } from './hint-provider.ts';
import type { NumaNode } from './machine-topology.ts';
import { numaMask, numaNodesOf } from './numa-mask.ts';
import { numaSubsets } from './numa-subsets.ts';
import {
  nodeCountWarning,
  PlacementConfigError,
  type TopologyPolicyName,
  topologyOptions,
} from './topology-options.ts';
import { topologyPolicy } from './topology-policy.ts';

function nodes(
  count: number,
  distance = (one: number, other: number): number => (one === other ? 10 : 20),
): NumaNode[] {
  const ids = Array.from({ length: count }, (_, id) => id);
  return ids.map((id) => {
    return { id, memoryBytes: 0, hugePages: new Map(), distances: ids.map((other) => distance(id, other)) };
  });
}

/** `0,1+`: a preferred hint; `*`: any node. */
function hint(text: string): TopologyHint {
  const ids = text.replace('+', '');
  return { affinity: ids === '*' ? undefined : numaMask(ids.split(',').map(Number)), preferred: text.endsWith('+') };
}

function hintText({ affinity, preferred }: TopologyHint): string {
  return `${affinity === undefined ? '*' : numaNodesOf(affinity).join(',')}${preferred ? '+' : ''}`;
}

interface Case {
  readonly resources: readonly (readonly string[] | undefined)[];
  /** The merged hint; `!`: the pod is not admitted. */
  readonly expected: Readonly<Record<Exclude<TopologyPolicyName, 'none'>, string>>;
}

const cases: Record<string, Case> = {
  'no resource has a preference': {
    resources: [undefined],
    expected: { 'best-effort': '0,1+', restricted: '0,1+', 'single-numa-node': '*+' },
  },
  'one resource cannot be had': {
    resources: [['0+', '1+'], []],
    expected: { 'best-effort': '0', restricted: '0 !', 'single-numa-node': '* !' },
  },
  'both prefer the same node': {
    resources: [
      ['0+', '1+', '0,1'],
      ['1+', '0,1'],
    ],
    expected: { 'best-effort': '1+', restricted: '1+', 'single-numa-node': '1+' },
  },
  'they prefer different nodes': {
    resources: [
      ['0+', '0,1'],
      ['1+', '0,1'],
    ],
    expected: { 'best-effort': '0', restricted: '0 !', 'single-numa-node': '* !' },
  },
  'one needs both nodes': {
    resources: [['0,1+'], ['0,1+']],
    expected: { 'best-effort': '0,1+', restricted: '0,1+', 'single-numa-node': '* !' },
  },
};

for (const [name, { resources, expected }] of Object.entries(cases)) {
  for (const [policy, merged] of Object.entries(expected)) {
    test(`the policy ${policy} merges hints: ${name}`, () => {
      const given = new Map(resources.map((hints, index) => [`r${index}`, hints?.map(hint)]));
      const chosen = policy as TopologyPolicyName;
      const found = topologyPolicy({ policy: chosen, options: {} }, { numaNodes: nodes(2) }).merge([given]);
      assert.equal(`${hintText(found.hint)}${found.isAdmitted ? '' : ' !'}`, merged);
    });
  }
}

test('the policy none admits all pods, from any nodes', () => {
  const { hint: merged, isAdmitted } = topologyPolicy({ policy: 'none', options: {} }, { numaNodes: [] }).merge([]);
  assert.deepEqual({ merged, isAdmitted }, { merged: { affinity: undefined, preferred: false }, isAdmitted: true });
});

test('prefer-closest-numa-nodes chooses the nodes with the smallest distance', () => {
  const distance = (one: number, other: number): number => (one === other ? 10 : one + other === 3 ? 11 : 30);
  const given = new Map([['cpu', ['0,1+', '0,2+', '0,3+', '1,2+'].map(hint)]]);
  const machine = { numaNodes: nodes(4, distance) };
  const merge = (options: Record<string, string>): string =>
    hintText(topologyPolicy({ policy: 'best-effort', options }, machine).merge([given]).hint);
  assert.equal(merge({}), '0,1+');
  assert.equal(merge({ 'prefer-closest-numa-nodes': 'true' }), '1,2+');
});

test('many hints of many resources are merged in little time', () => {
  const machine = { numaNodes: nodes(8) };
  const hints = numaSubsets([0, 1, 2, 3, 4, 5, 6, 7]).map((affinity) => ({ affinity, preferred: true }));
  const given = new Map(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, hints]));
  assert.equal(hintText(topologyPolicy({ policy: 'restricted', options: {} }, machine).merge([given]).hint), '0+');
});

test('numaSubsets() lists smaller sets first', () => {
  assert.deepEqual(numaSubsets([0, 1, 4]).map(numaNodesOf), [[0], [1], [4], [0, 1], [0, 4], [1, 4], [0, 1, 4]]);
});

const wrong: Record<string, Record<string, string>> = {
  'unknown Topology Manager Policy option: "fast"': { fast: 'true' },
  'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "yes": invalid syntax': {
    'prefer-closest-numa-nodes': 'yes',
  },
  'unable to convert policy option to integer "max-allowable-numa-nodes": strconv.Atoi: parsing "9.5": invalid syntax':
    {
      'max-allowable-numa-nodes': '9.5',
    },
  'the minimum value of "max-allowable-numa-nodes" should not be less than 8': { 'max-allowable-numa-nodes': '4' },
};

for (const [message, options] of Object.entries(wrong)) {
  test(`topologyOptions() rejects ${JSON.stringify(options)}`, () => {
    assert.throws(
      () => topologyOptions(options),
      (error) => error instanceof PlacementConfigError && error.message === message,
    );
  });
}

test('a machine with more nodes than the option allows is rejected', () => {
  const build = (count: number, options: Record<string, string> = {}, policy: TopologyPolicyName = 'restricted') =>
    topologyPolicy({ policy, options }, { numaNodes: nodes(count) });
  assert.throws(() => build(9), { message: 'unsupported on machines with more than 8 NUMA Nodes' });
  const more = { 'max-allowable-numa-nodes': '12' };
  assert.equal(build(12, more).name, 'restricted');
  assert.throws(() => build(13, more), { message: 'unsupported on machines with more than 12 NUMA Nodes' });
  assert.equal(build(9, {}, 'none').name, 'none');
  assert.match(nodeCountWarning(topologyOptions(more)) ?? '', /recommended value 8: 12/);
  assert.equal(nodeCountWarning(topologyOptions({})), undefined);
});

test('a machine without distances cannot prefer the closest nodes', () => {
  const numaNodes = nodes(2).map((node) => ({ ...node, distances: [] }));
  assert.throws(
    () => topologyPolicy({ policy: 'restricted', options: { 'prefer-closest-numa-nodes': '1' } }, { numaNodes }),
    { message: 'cannot discover NUMA topology: error getting NUMA distances from cadvisor' },
  );
});
