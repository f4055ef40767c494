import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { UnhandledErrors } from '../../base/unhandled-errors.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import type { PodSyncer, SyncOutcome } from './pod-syncer.ts';
import { PodWorkers } from './pod-workers.ts';
import type { WorkerProgress } from './worker-progress.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [], terminationGracePeriodSeconds: 30 },
};

/** A pod whose syncs return `outcome`, and whose termination never completes. */
async function setUp(outcome: () => Promise<SyncOutcome>) {
  const clock = new VirtualClock();
  const began = clock.now();
  const syncer: PodSyncer = {
    sync: outcome,
    terminate: (_pod, _options, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    release: async () => undefined,
    purge: async () => undefined,
    restart() {},
  };
  const random = new SeededRandom(1);
  const callbacks = { onPhase() {}, onGone() {}, admission: () => assert.fail() };
  const unhandled = new UnhandledErrors({ clock, log: silentLog });
  const deps = { clock, random, syncer, log: silentLog, unhandled, syncFrequencyMs: 60_000, ...callbacks };
  const workers = new PodWorkers(deps, new AbortController().signal);
  workers.update(pod);
  await clock.advance(0);
  /** Times in milliseconds since the start of the test. */
  const progress = (): WorkerProgress => {
    const current = workers.all.get('u1')?.progress ?? assert.fail();
    const since = (ms: number | undefined) => (ms === undefined ? undefined : Math.round(ms - began));
    return {
      ...current,
      phaseSinceMs: current.phaseSinceMs - began,
      nextSyncMs: since(current.nextSyncMs),
      backoffEndsMs: since(current.backoffEndsMs),
      graceEndsMs: since(current.graceEndsMs),
      lastError: current.lastError && { ...current.lastError, atMs: current.lastError.atMs - began },
    };
  };
  return { clock, workers, progress };
}

const NOTHING: WorkerProgress = {
  phaseSinceMs: 0,
  removed: false,
  nextSyncMs: undefined,
  backoffEndsMs: undefined,
  graceEndsMs: undefined,
  lastError: undefined,
};

test('a worker has no next sync while it syncs', async () => {
  const { progress } = await setUp(() => new Promise(() => undefined));
  assert.deepEqual(progress(), NOTHING);
});

test('a worker reports the end of a back-off and the next periodic sync', async () => {
  const { progress } = await setUp(async () => ({ kind: 'settled', resyncAfterMs: 300_000 }));
  const { nextSyncMs = 0, ...rest } = progress();
  assert.deepEqual(rest, { ...withoutNextSync(NOTHING), backoffEndsMs: 300_000 });
  assert.ok(nextSyncMs >= 60_000 && nextSyncMs < 90_000);
});

test('a worker reports the last error, how often it occurred, and the next retry', async () => {
  const { clock, progress } = await setUp(async () => {
    throw new Error('no network');
  });
  const { nextSyncMs = 0, ...rest } = progress();
  assert.deepEqual(rest, { ...withoutNextSync(NOTHING), lastError: { error: 'no network', atMs: 0, consecutive: 1 } });
  await clock.advance(nextSyncMs + 1);
  assert.equal(progress().lastError?.consecutive, 2);
});

test('a worker reports since when its pod terminates, and the end of the grace period', async () => {
  const { clock, workers, progress } = await setUp(async () => ({ kind: 'settled' }));
  await clock.advance(1000);
  workers.terminate('u1', { graceSeconds: 30, removed: true });
  await clock.advance(2000);
  assert.deepEqual(progress(), { ...NOTHING, phaseSinceMs: 1000, removed: true, graceEndsMs: 31_000 });
  workers.terminate('u1', { graceSeconds: 5, removed: true });
  await clock.advance(0);
  assert.deepEqual(progress(), { ...NOTHING, phaseSinceMs: 1000, removed: true, graceEndsMs: 8000 });
});

function withoutNextSync({ nextSyncMs: _, ...rest }: WorkerProgress): Omit<WorkerProgress, 'nextSyncMs'> {
  return rest;
}
