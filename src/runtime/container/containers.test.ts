import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerEventType, ContainerState, NamespaceMode, Signal } from '../../cri/generated/runtime-v1.ts';
import {
  type ContainerWorld,
  createContainerWorld,
  createRequest,
  IMAGE,
  leftovers,
  runContainer,
  signal,
} from './fake/container-world.ts';

async function statusOf({ containers }: ContainerWorld, containerId: string) {
  const { status } = await containers.verbs.containerStatus({ containerId, verbose: false }, signal);
  assert.ok(status);
  return status;
}

function stop({ containers }: ContainerWorld, containerId: string, seconds = 30, by = signal): Promise<unknown> {
  return containers.verbs.stopContainer({ containerId, timeout: BigInt(seconds) }, by);
}

function remove({ containers }: ContainerWorld, containerId: string): Promise<unknown> {
  return containers.verbs.removeContainer({ containerId }, signal);
}

const sharedPid = { linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.POD } } } };

test('a container from its creation to its removal', async () => {
  const world = await createContainerWorld();
  const { containerId } = await world.containers.verbs.createContainer(createRequest(), signal);
  assert.equal((await statusOf(world, containerId)).state, ContainerState.CONTAINER_CREATED);
  assert.deepEqual([...world.snapshots.mounted], [`/run/containers/${containerId}/rootfs`]);
  assert.equal((await world.host.fs.stat('/logs/pod1/main'))?.kind, 'directory');

  await world.containers.verbs.startContainer({ containerId }, signal);
  const running = await statusOf(world, containerId);
  assert.equal(running.state, ContainerState.CONTAINER_RUNNING);
  assert.equal(world.oci.containers.get(containerId)?.logPath, '/logs/pod1/main/0.log');

  await stop(world, containerId);
  const ended = await statusOf(world, containerId);
  assert.deepEqual([ended.state, ended.exitCode, ended.reason], [ContainerState.CONTAINER_EXITED, 131, 'Error']);
  assert.equal(ended.startedAt, running.startedAt);

  await remove(world, containerId);
  assert.deepEqual(await leftovers(world), []);
  await assert.rejects(statusOf(world, containerId), { code: 'NotFound' });
  assert.deepEqual(
    world.events.map(({ type }) => type),
    [
      ContainerEventType.CONTAINER_CREATED_EVENT,
      ContainerEventType.CONTAINER_STARTED_EVENT,
      ContainerEventType.CONTAINER_STOPPED_EVENT,
      ContainerEventType.CONTAINER_DELETED_EVENT,
    ],
  );
  assert.deepEqual(world.warnings, []);
});

test('the status reports the request and the image', async () => {
  const world = await createContainerWorld();
  const id = await runContainer(world, { labels: { a: 'b' }, stopSignal: Signal.SIGUSR1 });
  const status = await statusOf(world, id);
  assert.deepEqual(
    [status.image?.image, status.image?.userSpecifiedImage, status.imageRef, status.imageId],
    [IMAGE.repoTags[0], 'web:1', IMAGE.repoDigests[0], IMAGE.id],
  );
  assert.deepEqual([status.labels, status.stopSignal], [{ a: 'b' }, Signal.SIGUSR1]);
  assert.deepEqual(status.user?.linux, { uid: 5n, gid: 6n, supplementalGroups: [7n] });
  assert.equal(status.resources?.linux?.cpuShares, 2n);
  assert.equal(status.logPath, '/logs/pod1/main/0.log');
  const { info } = await world.containers.verbs.containerStatus({ containerId: id.slice(0, 8), verbose: true }, signal);
  const { pid, sandboxID, config, runtimeSpec } = JSON.parse(info['info'] ?? '');
  assert.deepEqual([pid, sandboxID, config.log_path], [1001, 'pod1', 'main/0.log']);
  assert.deepEqual(runtimeSpec.linux.seccomp, { defaultAction: 'SCMP_ACT_ERRNO' });
});

test('the exit of a container is recorded with code and reason, and its processes are killed', async () => {
  const world = await createContainerWorld();
  const [done, killed, shared] = await Promise.all([
    runContainer(world),
    runContainer(world, { metadata: { name: 'oom' } }),
    runContainer(world, { ...sharedPid, metadata: { name: 'shared' } }),
  ]);
  const killedAll: string[] = [];
  const kill = world.oci.kill.bind(world.oci);
  world.oci.kill = async (name, number, options?: { readonly all?: boolean }) => {
    if (options?.all) killedAll.push(name.id);
    await kill(name, number);
  };
  world.oci.exit(done, 0);
  world.oci.exit(killed, 137, true);
  world.oci.exit(shared, 3);
  await world.host.clock.advance(0);
  const exitOf = async (id: string) => {
    const { exitCode, reason } = await statusOf(world, id);
    return [exitCode, reason];
  };
  assert.deepEqual(await exitOf(done), [0, 'Completed']);
  assert.deepEqual(await exitOf(killed), [137, 'OOMKilled']);
  assert.deepEqual(await exitOf(shared), [3, 'Error']);
  assert.deepEqual(killedAll, [shared]);
  assert.deepEqual([...world.oci.containers.keys()], []);
});

test('a container whose monitor is gone is killed, and its exit is unknown', async () => {
  const world = await createContainerWorld();
  const id = await runContainer(world);
  world.oci.loseMonitor(id);
  await world.host.clock.advance(0);
  const { state, exitCode, reason, message } = await statusOf(world, id);
  assert.deepEqual([state, exitCode, reason], [ContainerState.CONTAINER_EXITED, 255, 'Unknown']);
  assert.match(message, /monitor/);
  assert.deepEqual(
    world.warnings.map(({ message: text }) => text),
    ['container monitor is gone'],
  );
});

test('an exit that cannot be recorded at once is recorded later', async () => {
  const world = await createContainerWorld();
  const id = await runContainer(world);
  world.host.fs.errors.failNext('writeReplacing', 'EIO');
  world.oci.exit(id, 0);
  await world.host.clock.advance(100);
  assert.equal((await statusOf(world, id)).state, ContainerState.CONTAINER_RUNNING);
  await world.host.clock.advance(60_000);
  assert.equal((await statusOf(world, id)).state, ContainerState.CONTAINER_EXITED);
});

for (const [where, fullFolder] of [
  ['the disk', '/lib'],
  ['every file system', ''],
] as const) {
  test(`a container exits and is removed while ${where} is full`, async () => {
    const world = await createContainerWorld();
    const id = await runContainer(world);
    world.host.fs.fullFolder = fullFolder;
    await world.host.clock.runUntil(stop(world, id, 10));
    assert.equal((await statusOf(world, id)).state, ContainerState.CONTAINER_EXITED);
    await world.containers.verbs.removeContainer({ containerId: id }, signal);
    assert.deepEqual([...world.containers.records.all], []);
    await world.restart();
    assert.deepEqual([...world.containers.records.all], []);
  });
}

test('an exit code that had no space on the disk is known to the next process', async () => {
  const world = await createContainerWorld();
  const id = await runContainer(world);
  world.host.fs.fullFolder = '/lib';
  world.oci.exit(id, 7);
  await world.host.clock.advance(0);
  await world.restart();
  const { state, exitCode } = await statusOf(world, id);
  assert.deepEqual([state, exitCode], [ContainerState.CONTAINER_EXITED, 7]);
});

test('a container that exits before it is watched is recorded as exited', async () => {
  const world = await createContainerWorld();
  world.oci.onStart = () => ({ kind: 'exits', exitCode: 4 });
  const id = await runContainer(world);
  await world.host.clock.advance(0);
  assert.deepEqual([(await statusOf(world, id)).exitCode, world.events.length], [4, 3]);
});

test('a stop sends the stop signal, and kills after the grace period', async () => {
  const world = await createContainerWorld();
  world.oci.onStart = () => ({ kind: 'runs', ignores: [3] });
  const id = await runContainer(world);
  const { signals } = world.oci.containers.get(id) ?? {};
  const stopped = stop(world, id, 10);
  await world.host.clock.advance(9_999);
  assert.deepEqual(signals, [3]);
  await world.host.clock.runUntil(stopped);
  assert.deepEqual(signals, [3, 9]);
  assert.equal((await statusOf(world, id)).exitCode, 137);
});

test('a stop without a grace period kills at once; a stop of an unknown or exited container does nothing', async () => {
  const world = await createContainerWorld();
  const id = await runContainer(world);
  const { signals } = world.oci.containers.get(id) ?? {};
  await stop(world, id, 0);
  await stop(world, id, 0);
  await stop(world, 'unknown');
  assert.deepEqual(signals, [9]);
});

test('of two stops the shorter grace period counts, and the stop signal is sent once', async () => {
  const world = await createContainerWorld();
  world.oci.onStart = () => ({ kind: 'runs', ignores: [3] });
  const id = await runContainer(world);
  const { signals } = world.oci.containers.get(id) ?? {};
  const long = stop(world, id, 100);
  await world.host.clock.advance(1000);
  const short = stop(world, id, 2);
  await world.host.clock.advance(1999);
  assert.deepEqual(signals, [3]);
  await world.host.clock.advance(1);
  await Promise.all([long, short]);
  assert.deepEqual(signals, [3, 9]);
});

test('an aborted stop does not shorten the grace period', async () => {
  const world = await createContainerWorld();
  world.oci.onStart = () => ({ kind: 'runs', ignores: [3] });
  const id = await runContainer(world);
  const caller = new AbortController();
  const stopped = stop(world, id, 100, caller.signal);
  await world.host.clock.advance(1000);
  caller.abort(new Error('gone'));
  await assert.rejects(stopped, /gone/);
  await world.host.clock.advance(200_000);
  assert.equal((await statusOf(world, id)).state, ContainerState.CONTAINER_RUNNING);
});

test('a container that cannot be killed is an error after a timeout, and can be stopped later', async () => {
  const world = await createContainerWorld();
  world.oci.onStart = () => ({ kind: 'runs', ignores: [3, 9] });
  const id = await runContainer(world);
  const stopped = assert.rejects(stop(world, id, 1), { code: 'DeadlineExceeded' });
  await world.host.clock.advance(100_000);
  await stopped;
  const again = stop(world, id, 1);
  world.oci.exit(id, 137);
  await again;
  assert.equal((await statusOf(world, id)).state, ContainerState.CONTAINER_EXITED);
});

test('a stop before the start changes nothing', async () => {
  const world = await createContainerWorld();
  const { containerId } = await world.containers.verbs.createContainer(createRequest(), signal);
  await stop(world, containerId);
  assert.equal((await statusOf(world, containerId)).state, ContainerState.CONTAINER_CREATED);
  await world.containers.verbs.startContainer({ containerId }, signal);
  assert.equal((await statusOf(world, containerId)).state, ContainerState.CONTAINER_RUNNING);
});

test('a stop during the start waits for it, and stops what it started', async () => {
  const world = await createContainerWorld();
  const { containerId } = await world.containers.verbs.createContainer(createRequest(), signal);
  const gate = Promise.withResolvers<void>();
  const start = world.oci.start.bind(world.oci);
  world.oci.start = async (...args) => {
    await gate.promise;
    return start(...args);
  };
  const started = world.containers.verbs.startContainer({ containerId }, signal);
  const stopped = stop(world, containerId);
  const removed = remove(world, containerId);
  gate.resolve();
  await Promise.all([started, stopped, removed]);
  assert.deepEqual(await leftovers(world), []);
});

test('a removal during a stop kills at once, and concurrent removals count as one', async () => {
  const world = await createContainerWorld();
  world.oci.onStart = () => ({ kind: 'runs', ignores: [3] });
  const id = await runContainer(world);
  const stopped = stop(world, id, 100);
  await world.host.clock.advance(10);
  await Promise.all([remove(world, id), remove(world, id), stopped]);
  await remove(world, id);
  assert.deepEqual(await leftovers(world), []);
  assert.equal(world.events.filter(({ type }) => type === ContainerEventType.CONTAINER_DELETED_EVENT).length, 1);
});

test('a removal that fails half-way can be repeated', async () => {
  const world = await createContainerWorld();
  for (const call of ['unmount', 'remove'] as const) {
    const id = await runContainer(world);
    world.snapshots.failNext.set(call, 'busy');
    await assert.rejects(remove(world, id), { code: 'Unknown', message: 'cannot remove container: busy' });
    assert.equal((await statusOf(world, id)).state, ContainerState.CONTAINER_EXITED);
    await remove(world, id);
    assert.deepEqual(await leftovers(world), []);
  }
});

test('the containers of a sandbox are stopped and removed together, in any state', async () => {
  const world = await createContainerWorld();
  await runContainer(world);
  const creating = world.containers.verbs.createContainer(createRequest({ metadata: { name: 'new' } }), signal);
  assert.equal(world.containers.ofSandbox.statuses('pod1').length, 1);
  await world.containers.ofSandbox.stopAll('pod1', signal);
  await creating;
  assert.deepEqual(
    world.containers.ofSandbox.statuses('pod1').map(({ state }) => state),
    [ContainerState.CONTAINER_EXITED, ContainerState.CONTAINER_CREATED],
  );
  await world.containers.ofSandbox.removeAll('pod1', signal);
  assert.deepEqual(await leftovers(world), []);
});

test('plugins are notified of each exit once, and their updates of other containers are applied', async () => {
  const notified: string[] = [];
  let other = '';
  const world = await createContainerWorld({
    nri: {
      stopContainer: async (_pod, { id }) => {
        notified.push(id);
        return [{ containerId: other, resources: { devices: [], cpu: { shares: 9 } }, ignoreFailure: false }];
      },
      postStartContainer: () => Promise.reject(new Error('too late to refuse')),
    },
  });
  const asked = await runContainer(world);
  const byItself = await runContainer(world, { metadata: { name: 'itself' } });
  other = await runContainer(world, { metadata: { name: 'other' } });
  await stop(world, asked);
  world.oci.exit(byItself, 0);
  await world.host.clock.advance(0);
  await remove(world, asked);
  assert.deepEqual(notified, [asked, byItself]);
  assert.deepEqual(world.oci.containers.get(other)?.resources?.cpu, { shares: 9 });
  await world.containers.nri.evict(other, 'for a test', signal);
  assert.deepEqual(notified.at(-1), other);
});
