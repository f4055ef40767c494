/** The lease of a node, and a lease of another machine with the same name, on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../src/api/generated/core-v1.ts';
import { formatMicroTime, parseTime } from '../../src/base/rfc3339.ts';
import { ApiError } from '../../src/kubelet/api-client/api-server.ts';
import { leaseKey } from '../../src/kubelet/node/lease/node-lease.ts';
import { nodeKey } from '../../src/kubelet/node/node-cache.ts';
import { NODE, type NodeWorld, newNodeWorld, startNode } from './node-world.ts';

const FOREVER = new AbortController().signal;
const KEY = leaseKey(NODE.nodeName);
const SECOND = 1000;
const WAITING = 'another machine uses this node name, waiting for its lease to expire';

async function ageMs({ host, lease }: NodeWorld): Promise<number> {
  return host.clock.now() - parseTime((await lease())?.spec.renewTime ?? '');
}

/** The node of another machine whose lease was renewed this long ago. */
async function haveOther({ server, host }: NodeWorld, ageOfLeaseMs: number): Promise<() => Promise<void>> {
  const nodeInfo = { machineID: 'other' } as NonNullable<NonNullable<Node['status']>['nodeInfo']>; // only the relevant field
  const node = { metadata: { name: 'box' }, spec: {}, status: { nodeInfo } };
  await server.direct.create(nodeKey('box'), node, FOREVER);
  const spec = { holderIdentity: 'box', leaseDurationSeconds: 40 };
  const metadata = { name: KEY.name, namespace: KEY.namespace };
  const renewTime = formatMicroTime(host.clock.now() - ageOfLeaseMs);
  await server.direct.create(KEY, { metadata, spec: { ...spec, renewTime } }, FOREVER);
  return async () => {
    const lease = await server.direct.get(KEY, FOREVER);
    const renewed = { ...lease, spec: { ...spec, renewTime: formatMicroTime(host.clock.now()) } };
    await server.direct.update(KEY, renewed, FOREVER);
  };
}

test('a lease is renewed four times in its duration', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(0);
  const first = await world.lease();
  assert.deepEqual([first?.spec.holderIdentity, first?.spec.leaseDurationSeconds], ['box', 40]);
  for (let second = 0; second < 120; second++) {
    await world.host.clock.advance(SECOND);
    assert.ok((await ageMs(world)) <= 10_400);
  }
  const renewals = Number((await world.lease())?.metadata.resourceVersion) - Number(first?.metadata.resourceVersion);
  assert.ok(renewals >= 11 && renewals <= 12);
});

test('the lease duration follows the configuration', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world, { leaseSeconds: 8 });
  await world.host.clock.advance(10 * SECOND);
  assert.equal((await world.lease())?.spec.leaseDurationSeconds, 8);
  assert.ok((await ageMs(world)) <= 2080);
});

test('an existing lease is adopted and gets the missing owner', async () => {
  const world = await newNodeWorld();
  const renewTime = formatMicroTime(world.host.clock.now() - 3_600_000);
  const spec = { holderIdentity: 'box', leaseDurationSeconds: 10, renewTime };
  await world.server.direct.create(KEY, { metadata: { name: 'box', namespace: KEY.namespace }, spec }, FOREVER);
  await using _node = await startNode(world);
  await world.host.clock.advance(0);
  const lease = await world.lease();
  assert.equal(lease?.spec.leaseDurationSeconds, 40);
  assert.equal(lease?.metadata.ownerReferences?.[0]?.uid, (await world.node())?.metadata.uid);
  assert.equal(await ageMs(world), 0);
});

test('a lease that another client has written is renewed nevertheless', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  const lease = await world.server.direct.get(KEY, FOREVER);
  const labels = { touched: 'yes' };
  await world.server.direct.update(KEY, { ...lease, metadata: { ...lease.metadata, labels } }, FOREVER);
  await world.host.clock.advance(10 * SECOND);
  assert.deepEqual((await world.lease())?.metadata.labels, labels);
  assert.ok((await ageMs(world)) <= SECOND);
});

test('a deleted lease is recreated', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  await world.server.direct.delete(KEY, {}, FOREVER);
  await world.host.clock.advance(10 * SECOND);
  assert.ok((await ageMs(world)) <= SECOND);
});

test('a failed renewal is retried five times at once', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  for (let times = 0; times < 4; times++) {
    world.server.faults.next('update', { kind: 'before', error: new ApiError('InternalError', 'etcd') });
  }
  await world.host.clock.advance(10 * SECOND);
  assert.ok((await ageMs(world)) <= SECOND);
});

test('after an outage the lease is renewed within seven seconds', async () => {
  const world = await newNodeWorld();
  await using _node = await startNode(world);
  await world.host.clock.advance(SECOND);
  world.server.faults.setOutage(true);
  await world.host.clock.advance(300 * SECOND);
  world.server.faults.setOutage(false);
  await world.host.clock.advance(7 * SECOND);
  assert.ok((await ageMs(world)) <= 7 * SECOND);
});

test('the node waits for another live machine of its name, and changes nothing of it meanwhile', async () => {
  const world = await newNodeWorld();
  const renew = await haveOther(world, 5 * SECOND);
  await using _node = await startNode(world);
  for (let times = 0; times < 6; times++) {
    await world.host.clock.advance(10 * SECOND);
    await renew();
  }
  assert.equal((await world.node())?.status?.nodeInfo?.machineID, 'other');
  assert.equal(await world.condition('Ready'), undefined);
  assert.equal(world.logged.at(-1), WAITING);
  await world.host.clock.advance(39 * SECOND); // the other machine has died
  assert.equal((await world.node())?.status?.nodeInfo?.machineID, 'other');
  await world.host.clock.advance(8 * SECOND);
  assert.equal((await world.condition('Ready'))?.status, 'True');
  assert.notEqual((await world.node())?.status?.nodeInfo?.machineID, 'other');
});

test('the node does not wait for a dead machine of its name', async () => {
  const world = await newNodeWorld();
  await haveOther(world, 41 * SECOND);
  await using _node = await startNode(world);
  await world.host.clock.advance(0);
  assert.equal((await world.condition('Ready'))?.status, 'True');
  assert.ok(!world.logged.includes(WAITING));
});

test('the same machine continues at once, whatever process renewed its lease before', async () => {
  const world = await newNodeWorld();
  const first = await startNode(world);
  await world.host.clock.advance(SECOND);
  await first.stop();
  await using _next = await startNode(world);
  await world.host.clock.advance(0);
  assert.equal(await ageMs(world), 0);
  assert.ok(!world.logged.includes(WAITING));
});
