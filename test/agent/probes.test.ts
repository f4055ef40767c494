/** Probes, with the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, Probe } from '../../src/api/generated/core-v1.ts';
import type { ExecAnswer } from '../../src/cri/fake/behaviour.ts';
import { createFakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import { type MemoryAgent, podOf, startAgent, type World } from './memory-agent.ts';

interface ProbedWorld extends World {
  /** Results of commands by their first word; other commands succeed at once. Can be changed at any time. */
  readonly answers: Map<string, ExecAnswer>;
  /** `1 ready`: the commands that ran, with seconds. */
  readonly effects: string[];
}

function newProbedWorld(): ProbedWorld {
  const host = createMemoryHost();
  const answers = new Map<string, ExecAnswer>();
  const effects: string[] = [];
  const exec = ([word = '']: readonly string[]): ExecAnswer => {
    effects.push(`${host.clock.monotonic() / 1000} ${word}`);
    return answers.get(word) ?? {};
  };
  const behaviourOf = () => ({ exec });
  const runtime = createFakeRuntime({ clock: host.clock, random: host.random, behaviourOf });
  runtime.addImage('busybox:1');
  return { host, runtime, answers, effects };
}

const every = (periodSeconds: number, ...command: string[]): Probe => ({ exec: { command }, periodSeconds });

function podWith(main: Partial<Container>, spec: Partial<Pod['spec']> = {}): Pod {
  return podOf('web', { containers: [{ name: 'main', image: 'busybox:1', ...main }], ...spec });
}

function mainOf({ agent }: MemoryAgent) {
  const status = agent.pods()[0]?.status.containerStatuses?.find(({ name }) => name === 'main');
  return { ready: status?.ready, started: status?.started, restarts: status?.restartCount };
}

function unhealthy(it: MemoryAgent): string[] {
  const events = it.agent.pods()[0]?.events ?? [];
  return events.filter(({ reason }) => reason === 'Unhealthy').map(({ message }) => message);
}

test('a pod is ready while its gRPC health status is SERVING', async () => {
  const world = newProbedWorld();
  await using it = await startAgent(world);
  it.source.set(podWith({ readinessProbe: { grpc: { port: 9000 }, periodSeconds: 5, failureThreshold: 2 } }));
  await world.host.clock.advance(0);
  let health = 2;
  const grpc = async () => ({ code: 0, details: '', message: Uint8Array.of(8, health) });
  world.host.network.listen({ host: it.agent.pods()[0]?.status.podIP ?? '', port: 9000 }, { grpc });
  await world.host.clock.advance(5_000);
  assert.equal(mainOf(it).ready, false);
  health = 1;
  await world.host.clock.advance(5_000);
  assert.equal(mainOf(it).ready, true);
  health = 2;
  await world.host.clock.advance(5_000);
  assert.equal(mainOf(it).ready, true);
  await world.host.clock.advance(5_000);
  assert.equal(mainOf(it).ready, false);
  assert.equal(unhealthy(it).at(-1), 'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")');
});

test('a container that fails its liveness probe too often in a row restarts, with a new failure count', async () => {
  const world = newProbedWorld();
  world.answers.set('alive', { exitCode: 1, stdout: 'no pulse' });
  await using it = await startAgent(world);
  it.source.set(podWith({ livenessProbe: { ...every(10, 'alive'), failureThreshold: 3 } }));
  await world.host.clock.advance(19_999);
  assert.equal(mainOf(it).restarts, 0);
  await world.host.clock.advance(1);
  assert.equal(mainOf(it).restarts, 1);
  await world.host.clock.advance(19_999);
  assert.equal(mainOf(it).restarts, 1);
  assert.deepEqual(new Set(unhealthy(it)), new Set(['Liveness probe failed: no pulse']));
});

test('a main container waits until the startup probe of its sidecar succeeds', async () => {
  const world = newProbedWorld();
  world.answers.set('up', { exitCode: 1 });
  await using it = await startAgent(world);
  const startupProbe = { ...every(1, 'up'), failureThreshold: 60 };
  const sidecar = { name: 'proxy', image: 'busybox:1', restartPolicy: 'Always', startupProbe };
  it.source.set(podWith({}, { initContainers: [sidecar] }));
  await world.host.clock.advance(5_000);
  assert.equal(world.runtime.containers.size, 1);
  world.answers.delete('up');
  await world.host.clock.advance(1_000);
  assert.deepEqual(mainOf(it), { ready: true, started: true, restarts: 0 });
});

test('during termination only readiness is probed, until the container has exited', async () => {
  const world = newProbedWorld();
  await using it = await startAgent(world);
  world.answers.set('leave', { afterMs: 3_500 });
  it.source.set(
    podWith({
      livenessProbe: every(1, 'alive'),
      readinessProbe: every(1, 'ready'),
      lifecycle: { preStop: { exec: { command: ['leave'] } } },
    }),
  );
  await world.host.clock.advance(500);
  world.effects.length = 0;
  world.answers.set('ready', { exitCode: 1 });
  it.source.set();
  await world.host.clock.advance(3_400);
  assert.deepEqual(world.effects, ['0.5 leave', '1 ready', '2 ready', '3 ready']);
  assert.equal(mainOf(it).ready, false);
  await world.host.clock.advance(60_000);
  assert.deepEqual([world.effects.length, it.agent.pods()], [4, []]);
});

test('a command that exceeds its timeout fails, and affects only its own container', async () => {
  const world = newProbedWorld();
  world.answers.set('slow', { afterMs: 3_600_000 });
  await using it = await startAgent(world);
  const other = { name: 'other', image: 'busybox:1', readinessProbe: every(1, 'quick') };
  const main = { name: 'main', image: 'busybox:1', readinessProbe: { ...every(5, 'slow', '$(X)'), timeoutSeconds: 2 } };
  it.source.set(podOf('web', { containers: [main, other] }));
  await world.host.clock.advance(4_000);
  const statuses = it.agent.pods()[0]?.status.containerStatuses?.map(({ name, ready }) => [name, ready]);
  assert.deepEqual(statuses, [
    ['main', false],
    ['other', true],
  ]);
  assert.deepEqual(unhealthy(it), ['Readiness probe failed: command timed out: "slow $(X)" timed out after 2s']);
});
