import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../api/generated/core-v1.ts';
import { PLAIN_NODE } from '../fake/plain-node.ts';
import { initialNode } from '../lifecycle/initial-node.ts';
import type { NodeSettings } from '../node-settings.ts';
import { composeNode, type NodeInputs } from './compose-node.ts';

const SETTINGS: NodeSettings = { ...PLAIN_NODE, controllerAttaches: false, thresholds: [] };

const VIEW: NodeInputs = {
  identity: { machineId: 'm', systemUuid: 's', bootId: 'b', kernelVersion: '6.1', osImage: 'Linux', swapBytes: 0 },
  machine: { cpuCount: 1, memoryBytes: 2 ** 30, hugePages: {}, storageBytes: 2 ** 30 },
  addresses: { local: ['192.0.2.1'], named: [], primary: {} },
  runtime: { version: 'r://1', handlers: [], features: undefined },
  images: [],
  pressure: new Set(),
  notReadyReasons: [],
  nowMs: 0,
};

const BEFORE = composeNode(initialNode(SETTINGS), VIEW, SETTINGS).node;

function compose(view: Partial<NodeInputs>, settings: Partial<NodeSettings> = {}, before: Node = BEFORE) {
  return composeNode(before, { ...VIEW, ...view }, { ...SETTINGS, ...settings });
}

test('composeNode() has no changes and no events for an unchanged node', () => {
  assert.deepEqual(compose({}), { node: BEFORE, events: [], errors: [] });
});

test('composeNode() has the runtime’s features', () => {
  const handlers = [{ name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } }];
  const features = { supplementalGroupsPolicy: true };
  const { status } = compose({ runtime: { version: 'r://2', handlers, features } }).node;
  assert.deepEqual(
    [status?.nodeInfo?.containerRuntimeVersion, status?.runtimeHandlers, status?.features],
    ['r://2', handlers, features],
  );
});

test('composeNode() has the swap capacity', () => {
  const { status } = compose({ identity: { ...VIEW.identity, swapBytes: 4096 } }).node;
  assert.deepEqual(status?.nodeInfo?.swap, { capacity: 4096 });
});

test('composeNode() keeps addresses that cannot be determined', () => {
  const { node, errors } = compose({ addresses: { ...VIEW.addresses, local: [] } });
  assert.deepEqual(node.status?.addresses, BEFORE.status?.addresses);
  assert.deepEqual(errors, [
    `failed to validate nodeIP: node IP: "192.0.2.1" not found in the host's network interfaces`,
  ]);
});

test('composeNode() is not ready while capacities are unknown', () => {
  const { node, events } = compose(
    { machine: { ...VIEW.machine, storageBytes: undefined }, notReadyReasons: ['container runtime is down'] },
    {},
    initialNode(SETTINGS),
  );
  assert.equal(
    node.status?.conditions?.at(-1)?.message,
    '[container runtime is down, missing node capacity for resources: ephemeral-storage]',
  );
  assert.equal(events.length, 3);
});

test('composeNode() sets and removes the address for a cloud controller', () => {
  const key = 'alpha.kubernetes.io/provided-node-ip';
  const { node } = compose({}, { isCloudExternal: true });
  assert.equal(node.metadata.annotations?.[key], '192.0.2.1');
  assert.equal(compose({}, {}, node).node.metadata.annotations?.[key], undefined);
});

test('composeNode() restores the default labels', () => {
  const bare = { ...BEFORE, metadata: { name: 'box', labels: { mine: '1', 'kubernetes.io/os': 'plan9' } } };
  assert.deepEqual(compose({}, {}, bare).node.metadata.labels, {
    mine: '1',
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
  });
});

test('composeNode() has an event for a reboot', () => {
  const { events } = compose({ identity: { ...VIEW.identity, bootId: 'c' } });
  const message = 'Node box has been rebooted, boot id: c';
  assert.deepEqual(events, [{ type: 'Warning', reason: 'Rebooted', message }]);
});

test('initialNode() has the configured labels, taints and annotations', () => {
  const taint = { key: 'k', effect: 'NoSchedule' };
  const node = initialNode({
    ...SETTINGS,
    labels: { 'kubernetes.io/hostname': 'mine' },
    taints: [taint],
    providerId: 'p',
    controllerAttaches: true,
  });
  assert.equal(node.metadata.labels?.['kubernetes.io/hostname'], 'mine');
  assert.deepEqual(node.metadata.annotations, { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' });
  assert.deepEqual(node.spec, { taints: [taint], providerID: 'p' });
  assert.deepEqual(initialNode(SETTINGS).spec, {});
});
