/** Pods that replace others of the same name and need the same resources, on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import {
  createPod,
  FOREVER,
  type MemoryAgent,
  newClusterWorld,
  newWorld,
  podKey,
  podOf,
  startAgent,
  type World,
} from './memory-agent.ts';

/** How long each container takes to exit. */
const END_MS = 500;

/** Requests over half of the node and a host port: no two of them fit. */
function large(uid: string, { name = 'web', cpu = '600m', hostPort = 8080 } = {}): Pod {
  const container = { name: 'main', image: 'busybox:1', resources: { requests: { cpu } }, ports: [port(hostPort)] };
  const pod = podOf(name, { containers: [container] });
  return { ...pod, metadata: { ...pod.metadata, uid } };
}

function port(hostPort: number) {
  return { containerPort: 80, hostPort };
}

function slowWorld<T extends World>(world: T): T {
  world.runtime.behaviours.set('main', { onTerminate: { afterMs: END_MS, code: 0 } });
  return world;
}

async function started(world: World = newWorld()): Promise<MemoryAgent> {
  return startAgent(slowWorld(world));
}

async function set(it: MemoryAgent, ...pods: Pod[]): Promise<void> {
  it.source.set(...pods);
  await it.host.clock.advance(0);
}

/** The UIDs of the pods whose containers run. */
function up({ runtime }: Pick<World, 'runtime'>): (string | undefined)[] {
  const running = [...runtime.containers.values()].filter(({ state: phase }) => phase.phase === 'running');
  return running.map(({ config }) => config.labels['io.kubernetes.pod.uid']);
}

function shown({ agent }: MemoryAgent): (string | undefined)[][] {
  return agent
    .pods()
    .map(({ pod, status }) => [pod.metadata.uid, status.phase, ...(status.reason ? [status.reason] : [])]);
}

test('a replacement is admitted without the pod of its name, and waits for its end', async () => {
  await using it = await started();
  await set(it, large('one'));
  await set(it, large('two'));
  await it.host.clock.advance(END_MS - 1);
  assert.deepEqual(up(it), ['one']);
  await it.host.clock.advance(1);
  assert.deepEqual(up(it), ['two']);
  assert.deepEqual(shown(it), [['two', 'Running']]);
});

test('of three versions in quick succession only the last one runs', async () => {
  await using it = await started();
  await set(it, large('one'));
  for (const uid of ['two', 'three', 'four']) await set(it, large(uid));
  assert.deepEqual(up(it), ['one']);
  await it.host.clock.advance(END_MS);
  assert.deepEqual(up(it), ['four']);
  assert.deepEqual(shown(it), [['four', 'Running']]);
  const made = [...it.runtime.sandboxes.values()].map(({ config }) => config.labels['io.kubernetes.pod.uid']);
  assert.deepEqual(made, ['four']);
});

test('a version that is restored while it ends runs again once it has ended', async () => {
  await using it = await started();
  await set(it, large('one'));
  await set(it, large('two'));
  await set(it, large('one'));
  await it.host.clock.advance(END_MS);
  assert.deepEqual(up(it), ['one']);
  assert.deepEqual(shown(it), [['one', 'Running']]);
});

test('a pod that is removed and recreated with the same UID is admitted again', async () => {
  await using it = await started();
  await set(it, large('one'));
  await set(it);
  await set(it, large('one'));
  await it.host.clock.advance(END_MS);
  assert.deepEqual(up(it), ['one']);
  assert.deepEqual(shown(it), [['one', 'Running']]);
  assert.equal(it.agent.pods()[0]?.status.containerStatuses?.[0]?.restartCount, 1);
});

test('a pod that never restarts starts again when it is removed and recreated', async () => {
  await using it = await started();
  const job = podOf('job', { restartPolicy: 'Never' });
  await set(it, job);
  await set(it);
  await set(it, job);
  await it.host.clock.advance(END_MS);
  assert.deepEqual(up(it), ['uid-job']);
  assert.equal(it.agent.pods()[0]?.status.containerStatuses?.[0]?.restartCount, 0);
});

test('a pod that was terminal before the agent started holds no resources', async () => {
  const world = await newClusterWorld();
  const first = await startAgent(world);
  await set(first);
  await createPod(world, large('', { name: 'rejected', cpu: '1001m' }));
  await first.host.clock.advance(1000);
  assert.equal(shown(first)[0]?.[2], 'OutOfcpu');
  await first.stop();
  await createPod(world, large('', { name: 'web' }));
  await using second = await startAgent(world);
  await set(second);
  await second.host.clock.advance(1000);
  const phases = second.agent.pods().map(({ pod, status }) => [pod.metadata.name, status.phase]);
  assert.deepEqual(Object.fromEntries(phases), { rejected: 'Failed', web: 'Running' });
});

test('a version that does not fit is rejected, the previous one ends, and a smaller one runs', async () => {
  await using it = await started();
  await set(it, large('one'));
  await set(it, large('two', { cpu: '1001m' }));
  await it.host.clock.advance(END_MS);
  assert.deepEqual(up(it), []);
  assert.deepEqual(shown(it), [['two', 'Failed', 'OutOfcpu']]);
  await set(it, large('three'));
  assert.deepEqual(shown(it), [['three', 'Running']]);
});

test('a pod that left its source does not count against pods of other names', async () => {
  await using it = await started();
  await set(it, large('one'));
  await set(it, large('two', { name: 'renamed' }));
  await it.host.clock.advance(END_MS);
  assert.deepEqual(shown(it), [['two', 'Running']]);
});

test('a pod that waits for a pod of its name counts, and so does a recreated one', async () => {
  await using it = await started();
  await set(it, large('one'));
  await set(it, large('two'), large('other', { name: 'other' }));
  assert.deepEqual(shown(it).at(-1), ['other', 'Failed', 'OutOfcpu']);
  await set(it, large('one'), large('small', { name: 'small', cpu: '10m' }));
  assert.deepEqual(shown(it).at(-1), ['small', 'Failed', 'NodePorts']);
  await it.host.clock.advance(END_MS);
  assert.deepEqual(up(it), ['one']);
});

test('a recreated pod whose resources are taken is rejected, also after its previous incarnation has ended', async () => {
  await using it = await started();
  await set(it, large('one'));
  await set(it, large('other', { name: 'other' }));
  await set(it, large('other', { name: 'other' }), large('one'));
  await it.host.clock.advance(END_MS + 120_000);
  assert.deepEqual(up(it), ['other']);
  assert.deepEqual(shown(it), [
    ['other', 'Running'],
    ['one', 'Failed', 'OutOfcpu'],
  ]);
});

test('after a kill in between, the next agent continues with the new pod', async () => {
  const world = newWorld();
  const first = await started(world);
  await set(first, large('one'));
  await set(first, large('two'));
  await first.stop();
  await using second = await startAgent(world);
  await set(second, large('two'));
  assert.deepEqual(up(world), ['one']);
  await second.host.clock.advance(END_MS);
  assert.deepEqual(up(world), ['two']);
  assert.deepEqual(shown(second), [['two', 'Running']]);
});

test('an API server pod that is force-deleted and recreated under its name runs', async () => {
  const world = slowWorld(await newClusterWorld());
  await using it = await startAgent(world);
  await set(it);
  await createPod(world, large(''));
  await it.host.clock.advance(1000);
  const [before] = up(it);
  await world.apiServer.direct.delete(podKey('web'), { graceSeconds: 0 }, FOREVER);
  await createPod(world, large(''));
  await it.host.clock.advance(END_MS + 1000);
  const [now] = up(it);
  assert.equal(up(it).length, 1);
  assert.notEqual(now, before);
  assert.deepEqual(shown(it), [[now, 'Running']]);
});

test('the node of these tests has room for one such pod, and not for two', async () => {
  await using it = await started();
  await set(it, large('one'), large('two', { name: 'other', hostPort: 8081 }));
  assert.deepEqual(shown(it), [
    ['one', 'Running'],
    ['two', 'Failed', 'OutOfcpu'],
  ]);
});
