import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerState } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecordState } from '../store/container-record.ts';
import {
  type ContainerWorld,
  createContainerWorld,
  createRequest,
  leftovers,
  runContainer,
  signal,
} from './fake/container-world.ts';
import { type ContainerRecovery, decideContainerRecovery } from './recover-containers.ts';

const cases: ReadonlyArray<readonly [ContainerRecordState, ContainerRecovery]> = [
  [{ phase: 'creating' }, 'delete'],
  [{ phase: 'created' }, 'remount'],
  [{ phase: 'starting' }, 'resolveStart'],
  [{ phase: 'running', pid: 1, startedAtNs: 1n, bootId: 'now' }, 'watch'],
  [{ phase: 'running', pid: 1, startedAtNs: 1n }, 'watch'],
  [{ phase: 'running', pid: 1, startedAtNs: 1n, bootId: 'before' }, 'lostInReboot'],
  [{ phase: 'exited', finishedAtNs: 1n, exitCode: 0, reason: 'Completed', message: '' }, 'keep'],
];

for (const [state, recovery] of cases) {
  test(`decideContainerRecovery() ${JSON.stringify(state, (_, value) => (typeof value === 'bigint' ? Number(value) : value))}: ${recovery}`, async () => {
    const world = await createContainerWorld();
    const { containerId } = await world.containers.verbs.createContainer(createRequest(), signal);
    const record = world.containers.records.all.get(containerId);
    assert.ok(record);
    assert.equal(decideContainerRecovery({ ...record, state }, 'now'), recovery);
  });
}

async function statusOf({ containers }: ContainerWorld, containerId: string) {
  return (await containers.verbs.containerStatus({ containerId, verbose: false }, signal)).status;
}

test('a running container survives a restart of the agent, and its exit is observed', async () => {
  const world = await createContainerWorld();
  const id = await runContainer(world);
  await world.restart();
  const container = world.oci.containers.get(id);
  assert.deepEqual([container?.signals, container?.end], [[], undefined]);
  assert.equal(container?.leftoverExecsKilled, 1, 'execs of the previous process are killed');
  assert.equal((await statusOf(world, id))?.state, ContainerState.CONTAINER_RUNNING);
  world.oci.exit(id, 9);
  await world.host.clock.advance(0);
  assert.equal((await statusOf(world, id))?.exitCode, 9);
});

test('an exit between two processes is reported as the monitor recorded it', async () => {
  const world = await createContainerWorld();
  const id = await runContainer(world);
  const close = world.restart();
  world.oci.exit(id, 5);
  const finishedAt = BigInt(world.host.clock.now()) * 1_000_000n;
  world.host.clock.jump(60_000);
  await close;
  await world.host.clock.advance(0);
  const status = await statusOf(world, id);
  assert.deepEqual([status?.exitCode, status?.finishedAt], [5, finishedAt]);
});

test('a reboot marks running and created containers as exited, and leaves the others unchanged', async () => {
  const world = await createContainerWorld();
  const ran = await runContainer(world);
  const { containerId: created } = await world.containers.verbs.createContainer(
    createRequest({ metadata: { name: 'created' } }),
    signal,
  );
  const done = await runContainer(world, { metadata: { name: 'done' } });
  world.oci.exit(done, 0);
  await world.host.clock.advance(0);
  world.bootId = 'boot-2';
  world.oci.containers.clear();
  world.snapshots.mounted.clear();
  for (const { target } of await world.host.mounts.list()) {
    if (target.startsWith('/run/')) await world.host.mounts.unmount(target);
  }
  await world.host.fs.removeTree('/run');
  await world.restart();
  const exitOf = async (id: string) => {
    const status = await statusOf(world, id);
    return [status?.state, status?.exitCode, status?.reason, status?.message];
  };
  const exited = ContainerState.CONTAINER_EXITED;
  assert.deepEqual(await exitOf(ran), [exited, 255, 'Unknown', 'the machine was restarted while the container ran']);
  assert.deepEqual((await exitOf(created)).slice(0, 3), [exited, 255, 'Unknown']);
  assert.deepEqual(await exitOf(done), [exited, 0, 'Completed', '']);
  await world.containers.ofSandbox.removeAll('pod1', signal);
  assert.deepEqual(await leftovers(world), []);
});

test('a created container is remounted and can be started', async () => {
  const world = await createContainerWorld();
  const { containerId } = await world.containers.verbs.createContainer(createRequest(), signal);
  world.snapshots.mounted.clear();
  await world.restart();
  assert.deepEqual([...world.snapshots.mounted], [`/run/containers/${containerId}/rootfs`]);
  await world.containers.verbs.startContainer({ containerId }, signal);
});

test('a container being created is deleted, also if that fails at first', async () => {
  const world = await createContainerWorld({ nri: { createContainer: () => new Promise(() => {}) } });
  void world.containers.verbs.createContainer(createRequest(), signal);
  await world.host.clock.advance(0);
  assert.equal((await leftovers(world)).length, 5);
  world.snapshots.failNext.set('unmount', 'busy');
  await world.restart();
  const { containers } = await world.containers.verbs.listContainers({ filter: undefined }, signal);
  assert.equal(containers.length, 1);
  await world.containers.verbs.removeContainer({ containerId: containers[0]?.id ?? '' }, signal);
  assert.deepEqual(await leftovers(world), []);
});

async function interruptedStart(before: boolean): Promise<{ world: ContainerWorld; containerId: string }> {
  const world = await createContainerWorld();
  const { containerId } = await world.containers.verbs.createContainer(createRequest(), signal);
  const start = world.oci.start.bind(world.oci);
  world.oci.start = async (...args) => {
    if (!before) await start(...args);
    return new Promise(() => {});
  };
  void world.containers.verbs.startContainer({ containerId }, signal);
  await world.host.clock.advance(0);
  world.oci.start = start;
  return { world, containerId };
}

test('a start that was interrupted after the program started counts as started', async () => {
  const { world, containerId } = await interruptedStart(false);
  await world.restart();
  assert.equal((await statusOf(world, containerId))?.state, ContainerState.CONTAINER_RUNNING);
  assert.deepEqual(world.oci.containers.get(containerId)?.signals, []);
  world.oci.exit(containerId, 3);
  await world.host.clock.advance(0);
  assert.equal((await statusOf(world, containerId))?.exitCode, 3);
});

test('an interrupted start of a container that has exited since reports its exit', async () => {
  const { world, containerId } = await interruptedStart(false);
  world.oci.exit(containerId, 3);
  await world.restart();
  await world.host.clock.advance(0);
  assert.equal((await statusOf(world, containerId))?.exitCode, 3);
});

test('a start that was interrupted before the program started can be repeated', async () => {
  const { world, containerId } = await interruptedStart(true);
  await world.restart();
  assert.equal((await statusOf(world, containerId))?.state, ContainerState.CONTAINER_CREATED);
  await world.containers.verbs.startContainer({ containerId }, signal);
  assert.equal((await statusOf(world, containerId))?.state, ContainerState.CONTAINER_RUNNING);
});

test('orphans without a record are removed, but not those of a sandbox', async () => {
  const world = await createContainerWorld();
  const kept = await runContainer(world);
  const lost = await runContainer(world, { metadata: { name: 'lost' } });
  await world.host.fs.writeFile(`/lib/containers/${lost}.json`, '{');
  await world.host.fs.makeDirectory('/run/containers/stray/rootfs');
  await world.host.fs.makeDirectory('/run/containers/pod1');
  world.snapshots.layers.add('orphan-layer');
  await world.restart();
  assert.deepEqual(
    (await world.host.fs.readDirectory('/run/containers')).map(({ name }) => name),
    [kept, 'pod1'].toSorted((a, b) => (a < b ? -1 : 1)),
  );
  assert.deepEqual([[...world.snapshots.layers], [...world.oci.containers.keys()]], [[kept], [kept]]);
  assert.deepEqual(
    (await world.host.fs.readDirectory('/lib/containers')).map(({ name }) => name),
    [`${kept}.json`],
  );
});
