import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import type { PodSyncer, SyncOutcome } from './pod-syncer.ts';
import { PodWorkers } from './pod-workers.ts';
import type { WorkerProgress } from './worker-progress.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [], terminationGracePeriodSeconds: 30 },
};

/** A pod whose first pass comes to `outcome`, and which is never done with stopping. */
async function setUp(outcome: () => Promise<SyncOutcome>) {
  const clock = new VirtualClock();
  const began = clock.now();
  const syncer: PodSyncer = {
    sync: outcome,
    terminate: (_pod, _ending, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    release: async () => undefined,
    purge: async () => undefined,
    restart() {},
  };
  const random = new SeededRandom(1);
  const news = { onPhase() {}, onGone() {}, admission: () => assert.fail() };
  const deps = { clock, random, syncer, log: silentLog, syncFrequencyMs: 60_000, ...news };
  const workers = new PodWorkers(deps, new AbortController().signal);
  workers.update(pod);
  await clock.advance(0);
  /** With times in milliseconds since the beginning. */
  const progress = (): WorkerProgress => {
    const told = workers.all.get('u1')?.progress ?? assert.fail();
    const since = (ms: number | undefined) => (ms === undefined ? undefined : Math.round(ms - began));
    return {
      ...told,
      phaseSinceMs: told.phaseSinceMs - began,
      nextSyncMs: since(told.nextSyncMs),
      backoffEndsMs: since(told.backoffEndsMs),
      graceEndsMs: since(told.graceEndsMs),
      lastError: told.lastError && { ...told.lastError, atMs: told.lastError.atMs - began },
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

test('a worker at work has no next pass', async () => {
  const { progress } = await setUp(() => new Promise(() => undefined));
  assert.deepEqual(progress(), NOTHING);
});

test('a worker tells when a back-off ends, and that it only looks before', async () => {
  const { progress } = await setUp(async () => ({ kind: 'settled', resyncAfterMs: 300_000 }));
  const { nextSyncMs: nextPassMs = 0, ...rest } = progress();
  assert.deepEqual(rest, { ...withoutNextPass(NOTHING), pauseEndsMs: 300_000 });
  assert.ok(nextPassMs >= 60_000 && nextPassMs < 90_000);
});

test('a worker tells what failed, how often in a row, and when it tries again', async () => {
  const { clock, progress } = await setUp(async () => {
    throw new Error('no network');
  });
  const { nextSyncMs: nextPassMs = 0, ...rest } = progress();
  assert.deepEqual(rest, { ...withoutNextPass(NOTHING), failure: { error: 'no network', atMs: 0, inARow: 1 } });
  await clock.advance(nextPassMs + 1);
  assert.equal(progress().lastError?.consecutive, 2);
});

test('a worker tells since when its pod ends, and when the grace period is over', async () => {
  const { clock, workers, progress } = await setUp(async () => ({ kind: 'settled' }));
  await clock.advance(1000);
  workers.terminate('u1', { graceSeconds: 30, removed: true });
  await clock.advance(2000);
  assert.deepEqual(progress(), { ...NOTHING, phaseSinceMs: 1000, removed: true, graceEndsMs: 31_000 });
  workers.terminate('u1', { graceSeconds: 5, removed: true });
  await clock.advance(0);
  assert.deepEqual(progress(), { ...NOTHING, phaseSinceMs: 1000, removed: true, graceEndsMs: 8000 });
});

function withoutNextPass({ nextSyncMs: _, ...rest }: WorkerProgress): Omit<WorkerProgress, 'nextSyncMs'> {
  return rest;
}
