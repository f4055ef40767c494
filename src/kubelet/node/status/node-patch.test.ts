import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, NodeStatus } from '../../../api/generated/core-v1.ts';
import { hasNodeChanged, nodePatch } from './node-patch.ts';

const [OLD, NOW] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:10Z'];
const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: OLD, lastTransitionTime: OLD };
const network = { type: 'NetworkUnavailable', status: 'False' };
const node: Node = {
  metadata: { name: 'box', uid: 'u1', resourceVersion: '7', labels: { zone: 'a' } },
  spec: { podCIDR: '10.0.0.0/24' },
  status: {
    conditions: [network, ready],
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    capacity: { cpu: '2', 'example.com/gpu': '1' },
  },
};
const withStatus = (status: Partial<NodeStatus>): Node => ({ ...node, status: { ...node.status, ...status } });

const cases: Record<string, { after: Node; patch: object; isNews: boolean }> = {
  'is only the UID if nothing has changed': { after: node, patch: {}, isNews: false },
  'updates a heartbeat, which is not a change': {
    after: withStatus({ conditions: [network, { ...ready, lastHeartbeatTime: NOW }] }),
    patch: {
      status: {
        '$setElementOrder/conditions': [{ type: 'NetworkUnavailable' }, { type: 'Ready' }],
        conditions: [{ type: 'Ready', lastHeartbeatTime: NOW }],
      },
    },
    isNews: false,
  },
  'sends only the changed fields of a condition': {
    after: withStatus({ conditions: [network, { ...ready, status: 'False' }] }),
    patch: {
      status: {
        '$setElementOrder/conditions': [{ type: 'NetworkUnavailable' }, { type: 'Ready' }],
        conditions: [{ type: 'Ready', status: 'False' }],
      },
    },
    isNews: true,
  },
  'replaces all addresses, because several may have the same type': {
    after: withStatus({ addresses: [{ type: 'InternalIP', address: '10.0.0.2' }] }),
    patch: { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.2' }, { $patch: 'replace' }] } },
    isNews: true,
  },
  'removes resources': {
    after: withStatus({ capacity: { cpu: '2' } }),
    patch: { status: { capacity: { 'example.com/gpu': null } } },
    isNews: true,
  },
  'includes labels': {
    after: { ...node, metadata: { ...node.metadata, labels: { zone: 'b' } } },
    patch: { metadata: { labels: { zone: 'b' } } },
    isNews: true,
  },
  'never includes the spec': { after: { ...node, spec: {} }, patch: {}, isNews: false },
};

for (const [name, { after, patch, isNews }] of Object.entries(cases)) {
  test(`nodePatch() ${name}`, () => {
    const { metadata = {}, ...rest } = patch as { metadata?: object };
    assert.deepEqual(nodePatch(node, after), { metadata: { ...metadata, uid: 'u1' }, ...rest });
    assert.equal(hasNodeChanged(node, after), isNews);
  });
}

test('nodePatch() adds addresses to a node without any', () => {
  const addresses = [{ type: 'InternalIP', address: '10.0.0.2' }];
  assert.deepEqual(
    nodePatch({ metadata: { name: 'box' }, spec: {} }, { ...node, metadata: { name: 'box' }, status: { addresses } }),
    {
      metadata: {},
      status: { addresses },
    },
  );
});
