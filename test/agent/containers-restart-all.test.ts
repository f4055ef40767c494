/** A container exits as its rule names, and all containers of the pod restart: the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import { createMemoryApiServer } from '../../src/kubelet/api-client/fake/memory-api-server.ts';
import { type MemoryAgent, podOf, SETTINGS, startAgent } from './memory-agent.ts';
import { container, newWatchedWorld, type WatchedWorld } from './watched-world.ts';

const SIMULATED = new CriError('Unknown', 'simulated');
const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
const FOREVER = new AbortController().signal;

/** A world whose init containers succeed, and whose containers write a line. */
function newPodWorld(): WatchedWorld {
  const world = newWatchedWorld();
  const { behaviours } = world.runtime;
  for (const name of ['first', 'second']) behaviours.set(name, { exits: { afterMs: 0, code: 0 }, output: ['ok'] });
  for (const name of ['web', 'worker', 'proxy']) behaviours.set(name, { output: ['hello'] });
  return world;
}

/** A pod with restart policy Never, except for its worker. */
function podWithRule(): Pod {
  return podOf('pod', {
    restartPolicy: 'Never',
    initContainers: [container('first'), container('proxy', { restartPolicy: 'Always' }), container('second')],
    containers: [container('web'), container('worker', { restartPolicy: 'Never', restartPolicyRules: [rule] })],
  });
}

/** The worker exits after ten seconds. */
async function endWorker({ host, runtime, effects }: WatchedWorld, exitCode: number): Promise<void> {
  await host.clock.advance(10_000 - host.clock.monotonic());
  effects.length = 0;
  const worker = [...runtime.containers.values()].findLast(({ config }) => config.metadata?.name === 'worker');
  runtime.exitContainer(worker?.id ?? '', { exitCode });
}

function shown({ agent }: MemoryAgent): unknown[] {
  const { initContainerStatuses = [], containerStatuses = [] } = agent.pods()[0]?.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].map(({ name, state, lastState, restartCount }) => [
    name,
    Object.keys(state ?? {})[0],
    lastState?.terminated?.reason,
    restartCount,
  ]);
}

const ANEW = [
  '10 exited worker',
  '10 terminating web',
  '10 exited web',
  '10 removed web',
  '10 removed first',
  '10 removed second',
  '10 terminating proxy',
  '10 exited proxy',
  '10 removed proxy',
  '10 removed worker',
  '10 started first',
  '10 exited first',
  '10 started proxy',
  '10 started second',
  '10 exited second',
  '10 started web',
  '10 started worker',
];

test('all containers of the pod are removed, the cause last, and restart from the first init container', async () => {
  const world = newPodWorld();
  await using it = await startAgent(world);
  const conditions: string[] = [];
  it.agent.subscribe((event) => {
    if (event.kind !== 'status') return;
    const found = event.status.conditions?.find(({ type }) => type === 'AllContainersRestarting');
    if (found && conditions.at(-1) !== found.status) conditions.push(found.status);
  });
  it.source.set(podWithRule());
  await endWorker(world, 42);
  await world.host.clock.advance(0);
  assert.deepEqual(world.effects, ANEW);
  assert.deepEqual(conditions, ['False', 'True', 'False']);
  const why = 'RestartingAllContainers';
  assert.deepEqual(shown(it), [
    ['first', 'terminated', why, 1],
    ['proxy', 'running', why, 1],
    ['second', 'terminated', why, 1],
    ['web', 'running', why, 1],
    ['worker', 'running', why, 1],
  ]);
  assert.equal(it.agent.pods()[0]?.status.phase, 'Running');
  const killing = it.agent.pods()[0]?.events.filter(({ reason }) => reason === 'Killing');
  assert.deepEqual(
    killing?.map(({ message, fieldPath }) => `${fieldPath} ${message}`),
    ['spec.containers{web} killing', 'spec.initContainers{proxy} killing'],
  );
});

test('logs of the removed containers stay, and the new containers write beside them', async () => {
  const world = newPodWorld();
  await using it = await startAgent(world);
  it.source.set(podWithRule());
  await endWorker(world, 42);
  await world.host.clock.advance(0);
  const logs = await world.host.fs.readDirectory('/var/log/pods/default_pod_uid-pod/web');
  assert.deepEqual(logs.map(({ name }) => name).toSorted(), ['0.log', '1.log']);
});

test('an exit that the rule does not name leaves the other containers running', async () => {
  const world = newPodWorld();
  await using it = await startAgent(world);
  it.source.set(podWithRule());
  await endWorker(world, 1);
  await world.host.clock.advance(1000);
  assert.deepEqual(world.effects, ['10 exited worker']);
});

test('a container that ignores SIGTERM gets two seconds', async () => {
  const world = newPodWorld();
  world.runtime.behaviours.set('web', { onTerminate: 'ignore' });
  await using it = await startAgent(world);
  it.source.set(podWithRule());
  await endWorker(world, 42);
  await world.host.clock.advance(5000);
  assert.deepEqual(world.effects.slice(0, 4), [
    '10 exited worker',
    '10 terminating web',
    '12 exited web',
    '12 removed web',
  ]);
});

test('ephemeral containers are not restarted', async () => {
  const world = newPodWorld();
  await using it = await startAgent(world);
  const pod = podWithRule();
  it.source.set(pod);
  await world.host.clock.advance(1000);
  it.source.set({ ...pod, spec: { ...pod.spec, ephemeralContainers: [container('debug')] } });
  await endWorker(world, 42);
  await world.host.clock.advance(1000);
  assert.deepEqual(world.effects, ANEW);
});

test('a failed removal is retried from where it stopped', async () => {
  const world = newPodWorld();
  await using it = await startAgent(world);
  it.source.set(podWithRule());
  world.runtime.failures.everyCall((method) => {
    const isNow = method === 'removeContainer' && world.host.clock.monotonic() < 15_000;
    return isNow ? { kind: 'before', error: SIMULATED } : undefined;
  });
  await endWorker(world, 42);
  await world.host.clock.advance(1000);
  assert.deepEqual(world.effects, ['10 exited worker', '10 terminating web', '10 exited web']);
  await world.host.clock.advance(30_000);
  assert.deepEqual(
    shown(it).map((each) => (Array.isArray(each) ? each[3] : undefined)),
    [1, 1, 1, 1, 1],
  );
  assert.equal(it.agent.pods()[0]?.status.phase, 'Running');
});

test('the next agent continues after a crash in the middle', async () => {
  const world = newPodWorld();
  const it = await startAgent(world);
  it.source.set(podWithRule());
  world.runtime.failures.everyCall((method, request) => {
    const { containerId } = request as { containerId?: string }; // methods that have one
    const name = world.runtime.containers.get(containerId ?? '')?.config.metadata?.name;
    return method === 'removeContainer' && name === 'proxy' ? { kind: 'hang' } : undefined;
  });
  await endWorker(world, 42);
  await world.host.clock.advance(0);
  await it.stop();
  world.runtime.failures.everyCall(() => undefined);
  await using next = await startAgent(world);
  next.source.set(podWithRule());
  await world.host.clock.advance(0);
  assert.deepEqual(world.effects, ANEW);
});

test('a sandbox that is lost meanwhile is recreated first', async () => {
  const world = newPodWorld();
  await using it = await startAgent(world);
  it.source.set(podWithRule());
  await endWorker(world, 42);
  for (const { id } of world.runtime.sandboxes.values()) world.runtime.loseSandbox(id);
  await world.host.clock.advance(30_000);
  const running = [...world.runtime.containers.values()].filter(({ state: phase }) => phase.phase === 'running');
  const names = running.map(({ config }) => config.metadata?.name);
  assert.deepEqual(new Set(names), new Set(['proxy', 'web', 'worker']));
  assert.deepEqual([...world.runtime.sandboxes.values()].map(({ state }) => state).at(-1), 'ready');
});

test('an init container can be the cause', async () => {
  const world = newPodWorld();
  world.runtime.behaviours.set('second', { exits: { afterMs: 1000, code: 42 } });
  await using it = await startAgent(world);
  const spec = {
    initContainers: [container('first'), container('second', { restartPolicy: 'Never', restartPolicyRules: [rule] })],
  };
  it.source.set(podOf('pod', { ...spec, restartPolicy: 'Never', containers: [container('web')] }));
  await world.host.clock.advance(900);
  world.runtime.behaviours.set('second', { exits: { afterMs: 0, code: 0 } });
  await world.host.clock.advance(1000);
  assert.deepEqual(world.effects, [
    '0 started first',
    '0 exited first',
    '0 started second',
    '1 exited second',
    '1 removed first',
    '1 removed second',
    '1 started first',
    '1 exited first',
    '1 started second',
    '1 exited second',
    '1 started web',
  ]);
});

test('the restart is written to the API server, and a restarted agent reads it back', async () => {
  const world = newPodWorld();
  const { clock, random } = world.host;
  const apiServer = createMemoryApiServer({ clock, random });
  const node = { resource: 'nodes', namespace: '', name: SETTINGS.nodeName } as const;
  await apiServer.direct.create(node, { metadata: { name: SETTINGS.nodeName }, spec: {} }, FOREVER);
  const it = await startAgent({ ...world, apiServer });
  it.source.set();
  const { metadata, spec } = podWithRule();
  const key = { resource: 'pods', namespace: 'default', name: metadata.name } as const;
  await apiServer.direct.create(key, { metadata, spec: { ...spec, nodeName: SETTINGS.nodeName } }, FOREVER);
  await endWorker(world, 42);
  await clock.advance(20_000);
  const restarts = async (): Promise<unknown> => {
    const pod = await apiServer.direct.get(key, FOREVER);
    const { containerStatuses = [], conditions = [] } = pod.status ?? {};
    const condition = conditions.find(({ type }) => type === 'AllContainersRestarting');
    return [condition?.status, ...containerStatuses.map(({ name, restartCount }) => `${name} ${restartCount}`)];
  };
  assert.deepEqual(await restarts(), ['False', 'web 1', 'worker 1']);
  await it.stop();
  await using next = await startAgent({ ...world, apiServer });
  next.source.set();
  await clock.advance(20_000);
  assert.deepEqual(await restarts(), ['False', 'web 1', 'worker 1']);
});
