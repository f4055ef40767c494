/** Registration, status and readiness of the node object, on virtual time with an in-memory API server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../src/api/generated/core-v1.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import { ApiError } from '../../src/kubelet/api-client/api-server.ts';
import { nodeKey } from '../../src/kubelet/node/node-cache.ts';
import { NODE, type NodeWorld, newNodeWorld, startNode } from './node-world.ts';

const FOREVER = new AbortController().signal;
const KEY = nodeKey(NODE.nodeName);
const SECOND = 1000;
const NOT_READY = { status: false, reason: 'NetworkPluginNotReady', message: 'cni plugin not initialized' };
const READY = { status: true, reason: '', message: '' };

/** The times at which the node status was written. */
function timesOfPatches({ server, host }: NodeWorld): readonly number[] {
  const times: number[] = [];
  server.faults.everyCall((verb, { resource }) => {
    if (verb === 'patch' && resource === 'nodes') times.push(host.clock.monotonic());
    return undefined;
  });
  return times;
}

test('a node registers at once, ready and with its lease', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world, {
    labels: { 'topology.kubernetes.io/zone': 'z1' },
    providerId: 'cloud://1',
  });
  await world.host.clock.advance(0);
  const node = await world.node();
  assert.equal(node?.metadata.labels?.['topology.kubernetes.io/zone'], 'z1');
  assert.deepEqual(node?.spec, { providerID: 'cloud://1' });
  assert.equal((await world.condition('Ready'))?.status, 'True');
  assert.equal((await world.lease())?.metadata.ownerReferences?.[0]?.uid, node?.metadata.uid);
  assert.deepEqual(
    world.events.map((event) => event.split(':')[0]),
    ['Starting', 'NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID', 'NodeReady'],
  );
});

test('a node for a cloud controller has its taint and leaves its addresses unset', async () => {
  const world = await newNodeWorld();
  const taint = { key: 'dedicated', value: 'x', effect: 'NoExecute' };
  await using _node = await startNode(world, { isCloudExternal: true, nodeIps: [], taints: [taint] });
  await world.host.clock.advance(0);
  const node = await world.node();
  const cloud = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
  assert.deepEqual(node?.spec.taints, [taint, cloud]);
  assert.deepEqual(node?.status?.addresses, [{ type: 'Hostname', address: 'box' }]);
});

test('registration is retried after 100 ms, then with growing back-off up to 7 s', async () => {
  const world = await newNodeWorld();
  const triedMs: number[] = [];
  world.server.faults.everyCall((verb) => {
    if (verb !== 'create') return undefined;
    triedMs.push(world.host.clock.monotonic());
    return { kind: 'before', error: new ApiError('Unavailable', 'connection refused') };
  });
  await using _node = await startNode(world);
  await world.host.clock.advance(30 * SECOND);
  assert.deepEqual(triedMs, [0, 100, 300, 700, 1500, 3100, 6300, 12_700, 19_700, 26_700]);
  world.server.faults.everyCall(() => undefined);
  await world.host.clock.advance(7 * SECOND);
  assert.equal((await world.condition('Ready'))?.status, 'True');
});

test('a directory that cannot be created delays registration until it can, without ending the agent', async () => {
  const world = await newNodeWorld();
  world.host.fs.errors.failNext('makeDirectory', 'EIO', NODE.rootDir);
  const { stop } = await startNode(world);
  await world.host.clock.advance(50);
  assert.deepEqual([await world.node(), world.logged], [undefined, ['cannot register the node, retrying']]);
  await world.host.clock.advance(100);
  assert.equal((await world.condition('Ready'))?.status, 'True');
  await stop();
});

test('a previously registered node keeps the fields of other clients', async () => {
  const world = await newNodeWorld();
  const before: Node = {
    metadata: { name: 'box', labels: { mine: '1', 'kubernetes.io/arch': 'arm64' }, annotations: { a: '1' } },
    spec: { podCIDR: '10.0.0.0/24', unschedulable: true },
    status: {
      capacity: { 'example.com/gpu': '2', 'hugepages-64Ki': '1Gi' },
      conditions: [{ type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated' }],
      volumesAttached: [{ name: 'v1', devicePath: '' }],
    },
  };
  await world.server.direct.create(KEY, before, FOREVER);
  await using _node = await startNode(world, { labels: { late: '1' } });
  await world.host.clock.advance(0);
  const node = await world.node();
  assert.deepEqual(node?.spec, before.spec);
  assert.deepEqual(node?.metadata.annotations, {
    a: '1',
    'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
  });
  assert.equal(node?.metadata.labels?.['mine'], '1');
  assert.equal(node?.metadata.labels?.['late'], undefined);
  assert.equal(node?.metadata.labels?.['kubernetes.io/arch'], 'amd64');
  assert.equal(node?.status?.capacity?.['example.com/gpu'], '2');
  assert.equal(node?.status?.capacity?.['hugepages-64Ki'], undefined);
  assert.deepEqual(node?.status?.volumesAttached, before.status?.volumesAttached);
  assert.deepEqual(node?.status?.conditions?.[0], before.status?.conditions?.[0]);
  assert.equal((await world.condition('Ready'))?.status, 'True');
  assert.ok(world.events.includes('NodeNotSchedulable: Node box status is now: NodeNotSchedulable'));
});

test('without permission to create nodes the existing one is used', async () => {
  const world = await newNodeWorld();
  await world.server.direct.create(KEY, { metadata: { name: 'box' }, spec: {} }, FOREVER);
  world.server.faults.next('create', { kind: 'before', error: new ApiError('Forbidden', 'no') });
  await using _node = await startNode(world);
  await world.host.clock.advance(0);
  assert.equal((await world.condition('Ready'))?.status, 'True');
});

test('a node that another client must create is waited for', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world, { registers: false });
  await world.host.clock.advance(30 * SECOND);
  assert.equal(await world.node(), undefined);
  assert.equal(await world.lease(), undefined);
  await world.server.direct.create(KEY, { metadata: { name: 'box' }, spec: {} }, FOREVER);
  await world.host.clock.advance(11 * SECOND);
  assert.equal((await world.condition('Ready'))?.status, 'True');
  assert.notEqual(await world.lease(), undefined);
});

test('a deleted node is recreated only by the next start', async () => {
  const world = await newNodeWorld();
  const first = await startNode(world);
  await world.host.clock.advance(SECOND);
  await world.server.direct.delete(KEY, {}, FOREVER);
  await world.host.clock.advance(60 * SECOND);
  assert.equal(await world.node(), undefined);
  assert.equal(first.node.current(), undefined);
  await first.stop();
  await using _next = await startNode(world);
  await world.host.clock.advance(0);
  assert.equal((await world.condition('Ready'))?.status, 'True');
});

test('the node follows the readiness of the runtime within a second, both ways', async () => {
  const world = await newNodeWorld();
  world.runtime.setCondition('NetworkReady', NOT_READY);
  await using _node = await startNode(world);
  await world.host.clock.advance(60 * SECOND);
  const before = await world.condition('Ready');
  assert.deepEqual(
    [before?.status, before?.reason, before?.message],
    [
      'False',
      'KubeletNotReady',
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized',
    ],
  );
  world.runtime.setCondition('NetworkReady', READY);
  await world.host.clock.advance(SECOND);
  assert.equal((await world.condition('Ready'))?.status, 'True');
  assert.ok(world.events.includes('NodeReady: Node box status is now: NodeReady'));

  world.runtime.setCondition('NetworkReady', NOT_READY);
  world.networkChanged();
  await world.host.clock.advance(0);
  assert.equal((await world.condition('Ready'))?.status, 'False');
  assert.ok(world.events.includes('NodeNotReady: Node box status is now: NodeNotReady'));
});

test('a runtime that does not answer makes the node not ready after half a minute, and ready at once when back', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  world.runtime.failures.everyCall((method) =>
    method === 'status' ? { kind: 'before', error: new CriError('Unavailable', 'connection refused') } : undefined,
  );
  world.health.recordFailure(new Error('EOF'));
  await world.host.clock.advance(28 * SECOND);
  assert.equal((await world.condition('Ready'))?.status, 'True');
  await world.host.clock.advance(6 * SECOND);
  const down = await world.condition('Ready');
  assert.deepEqual([down?.status, down?.message], ['False', 'container runtime is down']);
  world.runtime.failures.everyCall(() => undefined);
  world.health.recordSuccess();
  await world.host.clock.advance(0);
  assert.equal((await world.condition('Ready'))?.status, 'True');
});

test('an unchanged status is written periodically: at a random time first, then every five minutes', async () => {
  const world = await newNodeWorld();
  const times = timesOfPatches(world);
  await using _node = await startNode(world);
  await world.host.clock.advance(1200 * SECOND);
  const [first = -1, second = 0, ...later] = times;
  assert.equal(first, 0);
  assert.ok(second >= 150 * SECOND && second <= 461 * SECOND);
  const between = later.map((time, index) => time - (index === 0 ? second : (later[index - 1] ?? 0)));
  assert.ok(between.length >= 2 && between.every((ms) => ms >= 300 * SECOND && ms <= 311 * SECOND));
});

test('a new image is in the node status within a minute', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  world.runtime.addImage('busybox:1');
  await world.host.clock.advance(42 * SECOND);
  assert.equal((await world.node())?.status?.images?.length, 1);
});

test('disk pressure is reported, and ends a transition period after space is free', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  const usage = { capacityBytes: 100 * 2 ** 30, availableBytes: 2 ** 29, inodes: 1, inodesFree: 1 };
  world.host.fs.setUsage(NODE.rootDir, usage);
  await world.host.clock.advance(11 * SECOND);
  assert.equal((await world.condition('DiskPressure'))?.status, 'True');
  assert.ok(world.events.includes('NodeHasDiskPressure: Node box status is now: NodeHasDiskPressure'));
  world.host.fs.setUsage(NODE.rootDir, { ...usage, availableBytes: 2 ** 33 });
  await world.host.clock.advance(280 * SECOND);
  assert.equal((await world.condition('DiskPressure'))?.status, 'True');
  await world.host.clock.advance(40 * SECOND);
  assert.equal((await world.condition('DiskPressure'))?.status, 'False');
});

test('a changed machine address changes the node address', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world, { nodeIps: [] });
  await world.host.clock.advance(SECOND);
  world.host.addresses.set('198.51.100.7');
  await world.host.clock.advance(11 * SECOND);
  assert.deepEqual((await world.node())?.status?.addresses, [
    { type: 'InternalIP', address: '198.51.100.7' },
    { type: 'Hostname', address: 'box' },
  ]);
});

test('conditions of other clients are preserved by our writes', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  const foreign = { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated' };
  await world.server.direct.patch(KEY, { status: { conditions: [foreign] } }, { subresource: 'status' }, FOREVER);
  world.runtime.setCondition('NetworkReady', NOT_READY);
  world.networkChanged();
  await world.host.clock.advance(11 * SECOND);
  assert.deepEqual(await world.condition('NetworkUnavailable'), foreign);
  assert.equal((await world.condition('Ready'))?.status, 'False');
});

test('foreign changes of the status are corrected', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  const unknown = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' };
  await world.server.direct.patch(KEY, { status: { conditions: [unknown] } }, { subresource: 'status' }, FOREVER);
  await world.host.clock.advance(11 * SECOND);
  assert.equal((await world.condition('Ready'))?.status, 'True');
});

test("a failed write is retried at once with the server's object, five times in all", async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  world.runtime.setCondition('NetworkReady', NOT_READY);
  for (let times = 0; times < 4; times++) {
    world.server.faults.next('patch', { kind: 'before', error: new ApiError('Conflict', 'changed') });
  }
  world.networkChanged();
  await world.host.clock.advance(0);
  assert.equal((await world.condition('Ready'))?.status, 'False');
});

test('after an outage of minutes the node status is current', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  world.server.faults.setOutage(true);
  await world.host.clock.advance(120 * SECOND);
  world.runtime.setCondition('NetworkReady', NOT_READY);
  await world.host.clock.advance(120 * SECOND);
  world.server.faults.setOutage(false);
  await world.host.clock.advance(11 * SECOND);
  assert.equal((await world.condition('Ready'))?.status, 'False');
});

test('a reboot of the machine is reported once', async () => {
  const world = await newNodeWorld();
  const first = await startNode(world);
  await world.host.clock.advance(SECOND);
  await first.stop();
  await world.host.fs.writeFile('/proc/sys/kernel/random/boot_id', 'second-boot\n');
  await using _next = await startNode(world);
  await world.host.clock.advance(30 * SECOND);
  assert.deepEqual(
    world.events.filter((event) => event.startsWith('Rebooted')),
    ['Rebooted: Node box has been rebooted, boot id: second-boot'],
  );
  assert.equal((await world.node())?.status?.nodeInfo?.bootID, 'second-boot');
});
