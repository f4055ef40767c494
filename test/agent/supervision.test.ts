/** The whole agent with parts that fail unexpectedly: pods go on, the part comes back, and the failure is shown. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toStaticPod } from '../../src/api/static-pod.ts';
import { InvariantError } from '../../src/base/invariant-error.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import type { RuntimeService } from '../../src/cri/services.ts';
import {
  type MemoryAgent,
  newClusterWorld,
  newWorld,
  podOf,
  SETTINGS,
  startAgent,
  type World,
} from './memory-agent.ts';

const BUG = new TypeError("Cannot read properties of undefined (reading 'metadata')");

/** Throws once, at the first message that contains the text. */
function throwingLog(text: string): Log {
  let isDue = true;
  const write = (message: string): void => {
    if (!isDue || !message.includes(text)) return;
    isDue = false;
    throw BUG;
  };
  return { ...silentLog, info: write, warn: write, error: write };
}

/** A world whose runtime throws synchronously at the next call of a method, instead of rejecting. */
function throwingWorld(method: keyof RuntimeService): World & { throwNext(error: unknown): void } {
  const world = newWorld();
  const { runtime } = world.runtime.cri;
  let next: unknown;
  const call = runtime[method] as (...args: unknown[]) => unknown;
  const throwing = (...args: unknown[]): unknown => {
    const error = next;
    next = undefined;
    if (error !== undefined) throw error;
    return call(...args);
  };
  const cri = { ...world.runtime.cri, runtime: { ...runtime, [method]: throwing } };
  return { ...world, runtime: { ...world.runtime, cri }, throwNext: (error) => (next = error) };
}

function phases({ agent }: MemoryAgent): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(agent.pods().map(({ pod, status }) => [pod.metadata.name, status.phase]));
}

test('a source that fails is restarted: pods run on, and later changes arrive', async () => {
  const it = await startAgent(newWorld(), {}, silentLog, ['source file']);
  it.source.set(podOf('web'));
  await it.host.clock.advance(5_000);
  it.source.fail(BUG);
  await it.host.clock.advance(0);
  assert.deepEqual(await it.agent.nodeErrors(), [
    `source file has failed: ${BUG.message}`,
    `unhandled error in source file: ${BUG.message}`,
  ]);
  assert.deepEqual(phases(it), { web: 'Running' });
  await it.host.clock.advance(1_000);
  it.source.set(podOf('web'), podOf('db'));
  await it.host.clock.advance(5_000);
  assert.deepEqual(phases(it), { web: 'Running', db: 'Running' });
  assert.deepEqual(
    [...it.runtime.containers.values()].map(({ state }) => state.phase),
    ['running', 'running'],
  );
  await it.host.clock.advance(300_000);
  assert.deepEqual(await it.agent.nodeErrors(), []);
  await it.stop();
});

test('PLEG that fails is restarted, and notices an exit that it missed', async () => {
  const it = await startAgent(newWorld(), {}, throwingLog('event stream'), ['pleg']);
  it.source.set(podOf('job', { restartPolicy: 'Never' }));
  await it.host.clock.advance(5_000);
  it.runtime.failEventStreams();
  await it.host.clock.advance(0);
  assert.match(it.unhandled.failedParts() ?? '', /^pleg has failed: Cannot read/);
  for (const { id } of it.runtime.containers.values()) it.runtime.exitContainer(id, { exitCode: 0 });
  await it.host.clock.advance(2_000);
  assert.deepEqual(phases(it), { job: 'Succeeded' });
  assert.deepEqual([...it.unhandled.restarts], [['pleg', 1]]);
  await it.stop();
});

test('a pod worker with a programming error retries its pod, and other pods are not affected', async () => {
  const world = throwingWorld('listPodSandbox');
  const it = await startAgent(world, {}, silentLog, ['pod worker']);
  it.source.set(podOf('web'));
  await it.host.clock.advance(5_000);
  world.throwNext(BUG);
  it.source.set(podOf('web'), podOf('db'));
  await it.host.clock.advance(30_000);
  assert.deepEqual(phases(it), { web: 'Running', db: 'Running' });
  assert.deepEqual([...it.unhandled.counts], [['pod worker', 1]]);
  assert.equal(it.unhandled.failedParts(), undefined);
  await it.stop();
});

test('a pod that cannot be dispatched does not keep others from starting, and is dispatched again', async () => {
  const world = newWorld();
  const { clock } = world.host;
  const now = clock.now.bind(clock);
  let isDue = true;
  clock.now = () => {
    if (!isDue || !new Error('the caller').stack?.includes('new PodWorker ')) return now();
    isDue = false;
    throw BUG;
  };
  const it = await startAgent(world, {}, silentLog, ['sync loop']);
  it.source.set();
  await clock.advance(5_000);
  it.source.set(podOf('web'), podOf('db'));
  await clock.advance(5_000);
  assert.deepEqual(phases(it), { db: 'Running' });
  await clock.advance(60_000);
  assert.deepEqual(phases(it), { db: 'Running', web: 'Running' });
  await it.stop();
});

test('a writer to the API server that fails is restarted and writes what it owes', async () => {
  const world = await newClusterWorld();
  const it = await startAgent(world, {}, throwingLog('cannot sync mirror pods'), ['mirror pod writer']);
  await it.host.clock.advance(1_000);
  world.apiServer.faults.setOutage(true);
  const origin = { source: 'file', location: '/etc/web.yaml', nodeName: SETTINGS.nodeName, seen: 'now' } as const;
  it.source.set(toStaticPod(podOf('web'), origin));
  await it.host.clock.advance(500);
  assert.equal(it.unhandled.counts.get('mirror pod writer'), 1);
  world.apiServer.faults.setOutage(false);
  await it.host.clock.advance(30_000);
  const { items } = await world.apiServer.direct.list({ resource: 'pods' }, new AbortController().signal);
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    [`web-${SETTINGS.nodeName}`],
  );
  await it.stop();
});

test('a broken invariant ends the agent, and its containers run on', async () => {
  const broken = new InvariantError('pod default/web has two workers');
  const it = await startAgent(newWorld());
  it.source.set(podOf('web'));
  await it.host.clock.advance(5_000);
  it.source.fail(broken);
  await assert.rejects(it.host.clock.runUntil(it.done), broken);
  assert.deepEqual(
    [...it.runtime.containers.values()].map(({ state }) => state.phase),
    ['running'],
  );
});
