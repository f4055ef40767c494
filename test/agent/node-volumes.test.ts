/** The volumes that the node reports and waits for, with an API server in memory on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../src/api/generated/core-v1.ts';
import { nodeKey } from '../../src/kubelet/node/node-cache.ts';
import { FOREVER } from './memory-agent.ts';
import { NODE, type NodeWorld, newNodeWorld, startNode } from './node-world.ts';

const VOLUME = 'kubernetes.io/csi/disk.example.com^v1';

/** Acts as the attach-detach controller. */
async function attach({ server }: NodeWorld, ...ids: readonly string[]): Promise<void> {
  const volumesAttached = ids.map((name) => ({ name, devicePath: '' }));
  await server.direct.patch(
    nodeKey(NODE.nodeName),
    { status: { volumesAttached } },
    { subresource: 'status' },
    FOREVER,
  );
}

function names(node: Node | undefined): readonly unknown[] {
  return [node?.status?.volumesInUse, node?.status?.volumesAttached?.map(({ name }) => name)];
}

test('a volume in use is reported at once, and kept beside those that are attached', async () => {
  const world = await newNodeWorld();
  const { clock } = world.host;
  await using started = await startNode(world);
  const { attachedVolumes } = started.node;
  await clock.advance(5000);
  await attach(world, 'other');
  let isAttached = false;
  void attachedVolumes.waitUntilAttached(VOLUME, FOREVER).then(() => (isAttached = true));
  await clock.advance(50);
  assert.deepEqual(names(await world.node()), [[VOLUME], ['other']]);
  assert.deepEqual([isAttached, attachedVolumes.pending(VOLUME)], [false, 'notAttached']);
  await attach(world, 'other', VOLUME);
  await clock.advance(50);
  assert.equal(isAttached, true);
  attachedVolumes.release(VOLUME);
  await clock.advance(50);
  assert.deepEqual(names(await world.node()), [undefined, ['other', VOLUME]]);
});

test('a restarted node removes volumes in use that no pod has on disk', async () => {
  const world = await newNodeWorld();
  const { clock } = world.host;
  const first = await startNode(world);
  void first.node.attachedVolumes.waitUntilAttached(VOLUME, FOREVER);
  await clock.advance(1000);
  await first.stop();
  await using second = await startNode(world);
  await clock.advance(1000);
  assert.deepEqual(names(await world.node())[0], undefined);
  assert.equal(second.node.attachedVolumes.pending(VOLUME), 'notReported');
});

test('a recreated node object gets the volumes in use before a volume counts as attached', async () => {
  const world = await newNodeWorld();
  const { clock } = world.host;
  await using started = await startNode(world);
  await clock.advance(1000);
  let isAttached = false;
  void started.node.attachedVolumes.waitUntilAttached(VOLUME, FOREVER).then(() => (isAttached = true));
  await clock.advance(50);
  await world.server.direct.delete(nodeKey(NODE.nodeName), {}, FOREVER);
  await clock.advance(50);
  await world.server.direct.create(nodeKey(NODE.nodeName), { metadata: { name: NODE.nodeName }, spec: {} }, FOREVER);
  await clock.advance(50);
  assert.deepEqual([isAttached, names(await world.node())[0]], [false, [VOLUME]]);
  await attach(world, VOLUME);
  await clock.advance(50);
  assert.equal(isAttached, true);
});
