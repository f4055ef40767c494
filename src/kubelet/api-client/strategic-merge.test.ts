import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patchShape } from './patch-shapes.ts';
import { strategicMerge } from './strategic-merge.ts';

const ready = { type: 'Ready', status: 'True' };
const initialized = { type: 'Initialized', status: 'True' };
const scheduled = { type: 'PodScheduled', status: 'True' };
const gate = { type: 'example.com/gate', status: 'True' };

const pod = {
  metadata: {
    name: 'web',
    labels: { app: 'web', tier: 'front' },
    finalizers: ['a', 'b'],
    ownerReferences: [{ uid: 'u1', name: 'set' }],
  },
  spec: {
    nodeName: 'box',
    containers: [{ name: 'main', image: 'busybox:1', env: [{ name: 'A', value: '1' }], args: ['x', 'y'] }],
    volumes: [{ name: 'v', emptyDir: { medium: 'Memory' } }],
  },
  status: {
    phase: 'Pending',
    conditions: [scheduled, ready],
    podIPs: [{ ip: '10.0.0.1' }],
    containerStatuses: [{ name: 'main', ready: true, restartCount: 1 }],
  },
};

/** The pod with a changed status. */
const status = (change: object) => ({ ...pod, status: { ...pod.status, ...change } });
const metadata = (change: object) => ({ ...pod, metadata: { ...pod.metadata, ...change } });

const cases: Record<string, { patch: Record<string, unknown>; result: unknown }> = {
  'changes nothing with an empty patch': { patch: {}, result: pod },
  'merges maps': {
    patch: { metadata: { labels: { tier: 'back', extra: '1' } } },
    result: metadata({ labels: { app: 'web', tier: 'back', extra: '1' } }),
  },
  'deletes null fields, whether they exist or not': {
    patch: { metadata: { labels: { tier: null, absent: null } } },
    result: metadata({ labels: { app: 'web' } }),
  },
  'adds a new map without its nulls': {
    patch: { metadata: { annotations: { a: '1', b: null } } },
    result: metadata({ annotations: { a: '1' } }),
  },
  'replaces a map with $patch: replace': {
    patch: { metadata: { labels: { $patch: 'replace', only: '1' } } },
    result: metadata({ labels: { only: '1' } }),
  },
  'empties a map with $patch: delete': {
    patch: { metadata: { labels: { $patch: 'delete' } } },
    result: metadata({ labels: {} }),
  },
  'merges conditions by type and keeps those of other writers': {
    patch: { status: { conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }] } },
    result: status({ conditions: [scheduled, { type: 'Ready', status: 'False', reason: 'ContainersNotReady' }] }),
  },
  'removes fields of a condition': {
    patch: { status: { conditions: [{ type: 'Ready', status: null }] } },
    result: status({ conditions: [scheduled, { type: 'Ready' }] }),
  },
  'puts a new condition first without an order': {
    patch: { status: { conditions: [gate] } },
    result: status({ conditions: [gate, scheduled, ready] }),
  },
  'follows the given order': {
    patch: {
      status: {
        '$setElementOrder/conditions': [{ type: 'Initialized' }, { type: 'Ready' }, { type: 'PodScheduled' }],
        conditions: [initialized],
      },
    },
    result: status({ conditions: [initialized, ready, scheduled] }),
  },
  'orders an otherwise unchanged list': {
    patch: { status: { '$setElementOrder/conditions': [{ type: 'Ready' }, { type: 'PodScheduled' }] } },
    result: status({ conditions: [ready, scheduled] }),
  },
  'keeps the position of the server’s own elements': {
    patch: {
      status: {
        '$setElementOrder/conditions': [{ type: 'Initialized' }, { type: 'Ready' }],
        conditions: [initialized],
      },
    },
    result: status({ conditions: [initialized, scheduled, ready] }),
  },
  'removes a condition': {
    patch: { status: { conditions: [{ $patch: 'delete', type: 'Ready' }] } },
    result: status({ conditions: [scheduled] }),
  },
  'replaces a list with $patch: replace': {
    patch: { status: { conditions: [gate, { $patch: 'replace' }] } },
    result: status({ conditions: [gate] }),
  },
  'merges addresses by ip, so that both families change independently': {
    patch: { status: { podIPs: [{ ip: '10.0.0.2' }, { $patch: 'delete', ip: '10.0.0.1' }], hostIPs: [{ ip: '::1' }] } },
    result: status({ podIPs: [{ ip: '10.0.0.2' }], hostIPs: [{ ip: '::1' }] }),
  },
  'replaces container statuses as a whole': {
    patch: { status: { containerStatuses: [{ name: 'main', ready: false }] } },
    result: status({ containerStatuses: [{ name: 'main', ready: false }] }),
  },
  'adds a new list without its directives': {
    patch: {
      status: {
        '$setElementOrder/hostIPs': [{ ip: '::1' }],
        hostIPs: [{ ip: '::1' }, { $patch: 'delete', ip: '::2' }],
      },
    },
    result: status({ hostIPs: [{ ip: '::1' }] }),
  },
  'adds to a set': {
    patch: { metadata: { finalizers: ['c', 'a'] } },
    result: metadata({ finalizers: ['c', 'a', 'b'] }),
  },
  'removes from a set': {
    patch: { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'], '$setElementOrder/finalizers': ['b'] } },
    result: metadata({ finalizers: ['b'] }),
  },
  'merges owners by uid': {
    patch: { metadata: { ownerReferences: [{ uid: 'u2', name: 'node' }] } },
    result: metadata({
      ownerReferences: [
        { uid: 'u2', name: 'node' },
        { uid: 'u1', name: 'set' },
      ],
    }),
  },
  'merges lists inside elements of lists, and replaces those without a key': {
    patch: {
      spec: { containers: [{ name: 'main', env: [{ name: 'A', value: '2' }], args: ['z'] }] },
    },
    result: {
      ...pod,
      spec: {
        ...pod.spec,
        containers: [{ name: 'main', image: 'busybox:1', env: [{ name: 'A', value: '2' }], args: ['z'] }],
      },
    },
  },
  'keeps only retained keys': {
    patch: { spec: { volumes: [{ $retainKeys: ['name', 'hostPath'], name: 'v', hostPath: { path: '/x' } }] } },
    result: { ...pod, spec: { ...pod.spec, volumes: [{ name: 'v', hostPath: { path: '/x' } }] } },
  },
};

for (const [name, { patch, result }] of Object.entries(cases)) {
  test(`strategicMerge() ${name}`, () => {
    const given = structuredClone([pod, patch]);
    assert.deepEqual(strategicMerge(pod, patch, patchShape('pods')), result);
    assert.deepEqual([pod, patch], given, 'an argument was changed');
  });
}

test('strategicMerge() replaces taints, and merges conditions and addresses of nodes by type', () => {
  const node = {
    spec: { taints: [{ key: 'a' }], podCIDRs: ['10.0.0.0/24'] },
    status: {
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      conditions: [ready],
      images: [{ names: ['a'] }],
    },
  };
  const patch = {
    spec: { taints: [{ key: 'b' }], podCIDRs: ['fd00::/64'] },
    status: {
      addresses: [{ type: 'InternalIP', address: '10.0.0.2' }],
      conditions: [gate],
      images: [{ names: ['b'] }],
    },
  };
  assert.deepEqual(strategicMerge(node, patch, patchShape('nodes')), {
    spec: { taints: [{ key: 'b' }], podCIDRs: ['fd00::/64', '10.0.0.0/24'] },
    status: {
      addresses: [{ type: 'InternalIP', address: '10.0.0.2' }],
      conditions: [gate, ready],
      images: [{ names: ['b'] }],
    },
  });
});

const rejected: Record<string, { patch: Record<string, unknown>; message: RegExp }> = {
  'an element without its key': {
    patch: { status: { conditions: [{ status: 'True' }] } },
    message: /does not contain declared merge key: type/,
  },
  'an unknown directive': {
    patch: { metadata: { labels: { $patch: 'remove' } } },
    message: /unknown patch type "remove"/,
  },
  'elements that are missing in the order': {
    patch: { status: { '$setElementOrder/conditions': [{ type: 'Ready' }], conditions: [gate] } },
    message: /doesn't match \$setElementOrder list/,
  },
  'fields that are set and not retained': {
    patch: { metadata: { $retainKeys: ['name'], labels: { a: '1' } } },
    message: /invalid patch format of retainKeys/,
  },
};

for (const [name, { patch, message }] of Object.entries(rejected)) {
  test(`strategicMerge() rejects ${name}`, () => {
    assert.throws(() => strategicMerge(pod, patch, patchShape('pods')), { name: 'BadPatchError', message });
  });
}
