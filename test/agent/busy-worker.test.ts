/** The status of a pod while its worker waits for the slowest container, on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, ContainerStatus } from '../../src/api/generated/core-v1.ts';
import { createFakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import { type MemoryAgent, podOf, startAgent, type World } from './memory-agent.ts';

const PULL_MS = 300_000;

/** The image `slow:1` is slow to pull. */
function newSlowWorld(): World {
  const host = createMemoryHost();
  const runtime = createFakeRuntime({ clock: host.clock, random: host.random, fs: host.fs });
  runtime.addImage('busybox:1');
  runtime.registry.set('slow:1', { pullMs: PULL_MS });
  return { host, runtime };
}

const slow: Container = { name: 'slow', image: 'slow:1' };

function quick(extra: Partial<Container> = {}): Container {
  return { name: 'quick', image: 'busybox:1', ...extra };
}

function statusOf({ agent }: MemoryAgent, name: string): ContainerStatus | undefined {
  return agent.pods()[0]?.status.containerStatuses?.find((status) => status.name === name);
}

function shown(it: MemoryAgent, name: string): string {
  const { state = {}, ready } = statusOf(it, name) ?? {};
  const kind = state.waiting?.reason ?? Object.keys(state)[0];
  return ready ? `${kind}, ready` : `${kind}`;
}

function idOf({ runtime }: World, name: string): string {
  return [...runtime.containers.values()].find(({ config }) => config.metadata?.name === name)?.id ?? '';
}

test('a started container is shown and probed while the image of another is pulled', async () => {
  const world = newSlowWorld();
  let isUp = false;
  world.runtime.behaviours.set('quick', { exec: () => ({ exitCode: isUp ? 0 : 1 }) });
  await using it = await startAgent(world);
  const readinessProbe = { exec: { command: ['up'] }, periodSeconds: 1 };
  it.source.set(podOf('web', { containers: [slow, quick({ readinessProbe })] }));
  await world.host.clock.advance(5000);
  assert.deepEqual([shown(it, 'quick'), shown(it, 'slow')], ['running', 'ContainerCreating']);
  isUp = true;
  await world.host.clock.advance(2000);
  assert.deepEqual([shown(it, 'quick'), shown(it, 'slow')], ['running, ready', 'ContainerCreating']);
  world.runtime.exitContainer(idOf(world, 'quick'), { exitCode: 1 });
  await world.host.clock.advance(0);
  assert.deepEqual([shown(it, 'quick'), shown(it, 'slow')], ['terminated', 'ContainerCreating']);
  await world.host.clock.advance(PULL_MS);
  assert.deepEqual([shown(it, 'quick'), shown(it, 'slow')], ['running, ready', 'running, ready']);
  assert.equal(statusOf(it, 'quick')?.restartCount, 1);
});

test('the sandbox is shown before the images are pulled', async () => {
  const world = newSlowWorld();
  await using it = await startAgent(world);
  it.source.set(podOf('web', { containers: [slow] }));
  await world.host.clock.advance(1000);
  const { conditions = [], podIP, phase } = it.agent.pods()[0]?.status ?? {};
  const ready = conditions.find(({ type }) => type === 'PodReadyToStartContainers');
  assert.deepEqual([ready?.status, podIP, phase], ['True', '10.244.0.2', 'Pending']);
});

test('a container that cannot start shows the reason while the image of another is pulled', async () => {
  const world = newSlowWorld();
  await using it = await startAgent(world);
  it.source.set(podOf('web', { containers: [slow, quick({ image: 'none:1', imagePullPolicy: 'Never' })] }));
  await world.host.clock.advance(1000);
  assert.deepEqual([shown(it, 'quick'), shown(it, 'slow')], ['ErrImageNeverPull', 'ContainerCreating']);
});

test('a container is not shown as running before its postStart hook is done', async () => {
  const world = newSlowWorld();
  await using it = await startAgent(world);
  const lifecycle = { postStart: { sleep: { seconds: 10 } } };
  it.source.set(podOf('web', { containers: [slow, quick({ lifecycle })] }));
  await world.host.clock.advance(9999);
  assert.deepEqual([shown(it, 'quick'), shown(it, 'slow')], ['ContainerCreating', 'ContainerCreating']);
  await world.host.clock.advance(1);
  assert.deepEqual([shown(it, 'quick'), shown(it, 'slow')], ['running, ready', 'ContainerCreating']);
});

test('a pod that never restarts is not terminal while its container is recreated', async () => {
  const world = newSlowWorld();
  await using it = await startAgent(world);
  const pod = podOf('web', { containers: [quick()], restartPolicy: 'Never' });
  it.source.set(pod);
  await world.host.clock.advance(1000);
  const phases = new Set<string | undefined>();
  it.agent.subscribe((event) => {
    if (event.kind === 'status') phases.add(event.status.phase);
  });
  it.source.set({ ...pod, spec: { ...pod.spec, containers: [quick({ image: 'slow:1' })] } });
  await world.host.clock.advance(PULL_MS + 60_000);
  assert.equal(shown(it, 'quick'), 'running, ready');
  assert.deepEqual([...phases], ['Running']);
});

test('a pod that is removed during a pull is shown as terminating', async () => {
  const world = newSlowWorld();
  await using it = await startAgent(world);
  const states: string[] = [];
  it.agent.subscribe((event) => {
    if (event.kind === 'status') states.push(shown(it, 'quick'));
  });
  it.source.set(podOf('web', { containers: [slow, quick()] }));
  await world.host.clock.advance(1000);
  states.length = 0;
  it.source.set();
  await world.host.clock.advance(60_000);
  assert.deepEqual(it.agent.pods(), []);
  assert.ok(states.indexOf('terminated') >= 0);
  assert.ok(!states.slice(states.indexOf('terminated')).includes('running, ready'));
});
