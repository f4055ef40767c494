import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, NodeStatus } from '../../../api/generated/core-v1.ts';
import { ATTACH_DETACH } from './initial-node.ts';
import { reconcileNode, withoutDevices } from './reconcile-node.ts';

interface Parts {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly capacity?: Record<string, string>;
  readonly allocatable?: Record<string, string>;
}

function nodeOf({ labels = {}, annotations = {}, capacity = {}, allocatable = {} }: Parts): Node {
  const status: NodeStatus = { capacity, allocatable };
  return { metadata: { name: 'box', labels, annotations }, spec: { unschedulable: true }, status };
}

const cases: Record<string, { existing: Parts; initial: Parts; wanted: Parts }> = {
  'sets the labels that describe the machine, and no others': {
    existing: { labels: { 'kubernetes.io/arch': 'arm64', mine: '1' } },
    initial: { labels: { 'kubernetes.io/arch': 'amd64', 'topology.kubernetes.io/zone': 'z', other: '2' } },
    wanted: { labels: { 'kubernetes.io/arch': 'amd64', 'topology.kubernetes.io/zone': 'z', mine: '1' } },
  },
  'removes a label whose value is empty': {
    existing: { labels: { 'topology.kubernetes.io/zone': 'z' } },
    initial: { labels: { 'topology.kubernetes.io/zone': '' } },
    wanted: {},
  },
  'sets the annotation for volumes attached by the controller': {
    existing: { annotations: { a: '1' } },
    initial: { annotations: { [ATTACH_DETACH]: 'true', b: '2' } },
    wanted: { annotations: { a: '1', [ATTACH_DETACH]: 'true' } },
  },
  'removes the annotation for volumes attached by the controller': {
    existing: { annotations: { a: '1', [ATTACH_DETACH]: 'true' } },
    initial: {},
    wanted: { annotations: { a: '1' } },
  },
  'updates huge pages and leaves other resources to the next status': {
    existing: {
      capacity: { cpu: '1', 'hugepages-1Gi': '1Gi', 'hugepages-2Mi': '1024Mi' },
      allocatable: { cpu: '1', 'hugepages-1Gi': '1Gi' },
    },
    initial: {
      capacity: { cpu: '2', 'hugepages-2Mi': '1Gi', 'hugepages-64Ki': '0' },
      allocatable: { cpu: '2', 'hugepages-2Mi': '1Gi', 'hugepages-64Ki': '0' },
    },
    wanted: {
      capacity: { cpu: '1', 'hugepages-2Mi': '1024Mi', 'hugepages-64Ki': '0' },
      allocatable: { cpu: '1', 'hugepages-2Mi': '1Gi', 'hugepages-64Ki': '0' },
    },
  },
  'sets the resources of a node that has none': {
    existing: {},
    initial: { capacity: { cpu: '2' }, allocatable: { cpu: '1' } },
    wanted: { capacity: { cpu: '2' }, allocatable: { cpu: '1' } },
  },
};

for (const [name, { existing, initial, wanted }] of Object.entries(cases)) {
  test(`reconcileNode() ${name}`, () => {
    assert.deepEqual(reconcileNode(nodeOf(existing), nodeOf(initial)), nodeOf(wanted));
  });
}

test('withoutDevices() sets extended resources to zero', () => {
  const amounts = { cpu: '1', 'example.com/gpu': '2', 'hugepages-1Gi': '1Gi' };
  const { status } = withoutDevices(nodeOf({ capacity: amounts, allocatable: amounts }));
  const wanted = { ...amounts, 'example.com/gpu': '0' };
  assert.deepEqual([status?.capacity, status?.allocatable], [wanted, wanted]);
});
