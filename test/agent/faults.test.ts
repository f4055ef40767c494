/** The whole agent with injected faults: defects that the simulator has found, each as a short test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import type { Effect } from '../../src/cri/fake/effects.ts';
import { createFakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import { phaseOf, podOf, startAgent, type World } from './memory-agent.ts';

const SIMULATED = new CriError('Unknown', 'simulated');

/** A world that records which containers were started. */
function newWatchedWorld(): World & { readonly started: string[] } {
  const host = createMemoryHost();
  const started: string[] = [];
  const onEffect = (effect: Effect): void => {
    if (effect.kind === 'started') started.push(effect.container.config.metadata?.name ?? '');
  };
  const runtime = createFakeRuntime({ clock: host.clock, random: host.random, onEffect });
  runtime.addImage('busybox:1');
  return { host, runtime, started };
}

function containerOf(name: string) {
  return { name, image: 'busybox:1' };
}

function deleted(pod: Pod): Pod {
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
}

function loseSandbox({ runtime }: World): void {
  for (const { id, state } of runtime.sandboxes.values()) if (state === 'ready') runtime.loseSandbox(id);
}

test('in a new sandbox all init containers run again before the main container', async () => {
  const world = newWatchedWorld();
  for (const name of ['first', 'second']) world.runtime.behaviours.set(name, { exits: { afterMs: 1000, code: 0 } });
  await using it = await startAgent(world);
  it.source.set(podOf('web', { initContainers: ['first', 'second'].map(containerOf) }));
  await world.host.clock.advance(5_000);
  loseSandbox(world);
  await world.host.clock.advance(15_000);
  const inOrder = ['first', 'second', 'main'];
  assert.deepEqual(world.started, [...inOrder, ...inOrder]);
});

test('a main container that was created but never started does not prove that its init containers ran', async () => {
  const world = newWatchedWorld();
  world.runtime.behaviours.set('first', { exits: { afterMs: 1000, code: 0 } });
  await using it = await startAgent(world);
  it.source.set(podOf('web', { initContainers: [containerOf('first')] }));
  await world.host.clock.advance(500);
  const startFails = (method: string) =>
    method === 'startContainer' ? { kind: 'before' as const, error: SIMULATED } : undefined;
  world.runtime.failures.everyCall(startFails);
  await world.host.clock.advance(500);
  world.runtime.failures.everyCall(() => undefined);
  loseSandbox(world);
  await world.host.clock.advance(30_000);
  assert.deepEqual(world.started, ['first', 'first', 'main']);
});

test('after an unobserved start the container is looked up before it is started again', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  world.runtime.failEventStreams();
  world.runtime.failures.next('getContainerEvents', { kind: 'hang' });
  world.runtime.failures.next('startContainer', { kind: 'after', error: SIMULATED });
  let looks = 0;
  world.runtime.failures.everyCall((method) => {
    // The first two calls happen before the start.
    const isBlind = method === 'listContainers' && world.started.length > 0 && ++looks <= 2;
    return isBlind ? { kind: 'before', error: SIMULATED } : undefined;
  });
  it.source.set(podOf('web'));
  await world.host.clock.advance(120_000);
  assert.deepEqual(world.started, ['main']);
  assert.equal(phaseOf(it), 'Running');
});

test('a clock that was set back does not make a new sandbox look old', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  it.source.set(podOf('web'));
  await world.host.clock.advance(5_000);
  world.host.clock.jump(-3_600_000);
  loseSandbox(world);
  await world.host.clock.advance(60_000);
  assert.deepEqual(world.started, ['main', 'main']);
  assert.equal([...world.runtime.sandboxes.values()].filter(({ state }) => state === 'ready').length, 1);
});

test('a pod that is already marked as deleted is never started', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  it.source.set(deleted(podOf('web')));
  await world.host.clock.advance(60_000);
  assert.deepEqual([world.started, world.runtime.sandboxes.size], [[], 0]);
});

test('a rejected pod stays rejected when it is deleted', async () => {
  await using it = await startAgent();
  const refused = podOf('web', { nodeSelector: { nowhere: 'true' } });
  it.source.set(refused);
  await it.host.clock.advance(0);
  it.source.set(deleted(refused));
  await it.host.clock.advance(60_000);
  assert.equal(phaseOf(it), 'Failed');
  it.source.set();
  await it.host.clock.advance(0);
  assert.deepEqual(it.agent.pods(), []);
});

test('no status is published for orphans of a previous agent', async () => {
  const world = newWatchedWorld();
  const first = await startAgent(world);
  first.source.set(podOf('old'));
  await world.host.clock.advance(0);
  await first.stop();
  await using second = await startAgent(world);
  const statuses: string[] = [];
  second.agent.subscribe((event) => {
    if (event.kind === 'status') statuses.push(event.pod.metadata.name);
  });
  second.source.set();
  await world.host.clock.advance(10_000);
  assert.deepEqual([statuses, world.runtime.sandboxes.size], [[], 0]);
});

test('a pod that never restarts gets a new sandbox while no container of it has run', async () => {
  const world = newWatchedWorld();
  world.runtime.failures.next('startContainer', { kind: 'before', error: SIMULATED });
  await using it = await startAgent(world);
  it.source.set(podOf('job', { restartPolicy: 'Never' }));
  await world.host.clock.advance(0);
  loseSandbox(world);
  await world.host.clock.advance(30_000);
  assert.deepEqual(world.started, ['main']);
});

test('a pod that never restarts fails when its sandbox is lost before all containers have run', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  const other = { name: 'other', image: 'absent:1' };
  it.source.set(podOf('job', { restartPolicy: 'Never', containers: [containerOf('main'), other] }));
  await world.host.clock.advance(1_000);
  assert.deepEqual(world.started, ['main']);
  loseSandbox(world);
  await world.host.clock.advance(60_000);
  assert.equal(phaseOf(it), 'Failed');
});

test('a container whose files cannot be created waits with the reason, and the others start', async () => {
  const world = newWatchedWorld();
  await using it = await startAgent(world);
  const logs = '/var/log/pods/default_web_uid-web/main';
  for (let time = 1; time <= 10; time++) world.host.fs.errors.failNext('makeDirectory', 'EIO', logs);
  it.source.set(podOf('web', { containers: ['main', 'other'].map(containerOf) }));
  await world.host.clock.advance(0);
  const waiting = it.agent.pods()[0]?.status.containerStatuses?.[0]?.state?.waiting;
  assert.deepEqual([world.started, waiting?.reason], [['other'], 'CreateContainerConfigError']);
});
