import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { InvariantError } from '../../base/invariant-error.ts';
import { silentLog } from '../../base/log.ts';
import { UnhandledErrors } from '../../base/unhandled-errors.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import type { KillPodOptions, PodSyncer, SyncOutcome } from './pod-syncer.ts';
import { PodWorkers } from './pod-workers.ts';

function pod(uid: string, name = uid): Pod {
  return {
    metadata: { name, namespace: 'default', uid },
    spec: { containers: [{ name: 'main', image: 'busybox' }], terminationGracePeriodSeconds: 30 },
  };
}

/** A syncer that records its calls and returns scripted results. */
class ScriptedSyncer implements PodSyncer {
  readonly calls: string[] = [];
  outcome: () => Promise<SyncOutcome> = async () => ({ kind: 'settled' });
  terminated: () => Promise<void> = async () => undefined;

  async sync({ metadata }: Pod, signal: AbortSignal): Promise<SyncOutcome> {
    this.calls.push(`sync ${metadata.uid}`);
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    return Promise.race([this.outcome(), aborted]);
  }

  async terminate({ metadata }: Pod, { graceSeconds }: KillPodOptions, signal: AbortSignal): Promise<void> {
    this.calls.push(`terminate ${metadata.uid} in ${graceSeconds} s`);
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    await Promise.race([this.terminated(), aborted]);
  }

  async release({ metadata }: Pod): Promise<void> {
    this.calls.push(`release ${metadata.uid}`);
  }

  async purge({ metadata }: Pod): Promise<void> {
    this.calls.push(`purge ${metadata.uid}`);
  }

  restart({ metadata }: Pod): void {
    this.calls.push(`restart ${metadata.uid}`);
  }
}

function setUp() {
  const clock = new VirtualClock();
  const syncer = new ScriptedSyncer();
  const gone: string[] = [];
  const isAdmissible = { value: true };
  const unhandled = new UnhandledErrors({ clock, log: silentLog });
  const life = new AbortController();
  const workers: PodWorkers = new PodWorkers(
    {
      clock,
      random: new SeededRandom(1),
      syncer,
      log: silentLog,
      unhandled,
      syncFrequencyMs: 60_000,
      onPhase: () => undefined,
      onGone: ({ metadata }) => gone.push(metadata.uid),
      admission: () => ({
        isAdmissible: () => isAdmissible.value,
        readmit: (successor) => workers.update(successor),
      }),
    },
    life.signal,
  );
  return { clock, syncer, workers, gone, life, isAdmissible, unhandled };
}

const forever = new Promise<never>(() => undefined);

test('a pod is synced at once, then periodically', async () => {
  const { clock, syncer, workers } = setUp();
  workers.update(pod('a'));
  await clock.advance(0);
  assert.deepEqual(syncer.calls, ['sync a']);
  await clock.advance(59_999);
  assert.equal(syncer.calls.length, 1);
  await clock.advance(30_001);
  assert.equal(syncer.calls.length, 2);
});

test('wakes during a sync lead to one more sync', async () => {
  const { clock, syncer, workers } = setUp();
  const first = Promise.withResolvers<SyncOutcome>();
  syncer.outcome = () => first.promise;
  workers.update(pod('a'));
  workers.wake('a');
  workers.wake('a');
  syncer.outcome = async () => ({ kind: 'settled' });
  first.resolve({ kind: 'settled' });
  await clock.advance(0);
  assert.deepEqual(syncer.calls, ['sync a', 'sync a']);
});

test('a pod is synced exactly when its back-off ends', async () => {
  const { clock, syncer, workers } = setUp();
  syncer.outcome = async () => ({ kind: 'settled', resyncAfterMs: 10_000 });
  workers.update(pod('a'));
  await clock.advance(9_999);
  assert.equal(syncer.calls.length, 1);
  await clock.advance(1);
  assert.equal(syncer.calls.length, 2);
});

test('a failed sync is retried after 10 s plus jitter', async () => {
  const { clock, syncer, workers } = setUp();
  syncer.outcome = async () => {
    throw new Error('no');
  };
  workers.update(pod('a'));
  await clock.advance(9_999);
  assert.equal(syncer.calls.length, 1);
  await clock.advance(5_001);
  assert.equal(syncer.calls.length, 2);
});

test('a programming error is reported as unhandled, and the pod is retried as after other errors', async () => {
  const { clock, syncer, workers, unhandled } = setUp();
  let isBroken = true;
  syncer.outcome = async () => {
    if (isBroken) throw new TypeError('a bug');
    return { kind: 'settled' };
  };
  workers.update(pod('a'));
  workers.update(pod('b'));
  await clock.advance(0);
  assert.deepEqual([...unhandled.counts], [['pod worker', 2]]);
  isBroken = false;
  await clock.advance(15_000);
  assert.equal(syncer.calls.length, 4);
  assert.equal(workers.all.get('a')?.progress.lastError, undefined);
});

test('a broken invariant in a worker is reported and not retried', async () => {
  const { clock, syncer, workers, unhandled } = setUp();
  const broken = new InvariantError('two owners');
  syncer.outcome = async () => {
    throw broken;
  };
  workers.update(pod('a'));
  await clock.advance(300_000);
  assert.deepEqual(syncer.calls, ['sync a']);
  await assert.rejects(unhandled.untilBroken(new AbortController().signal), broken);
});

test('a removed pod is terminated, released and purged, and its sync is aborted', async () => {
  const { clock, syncer, workers, gone } = setUp();
  syncer.outcome = () => forever;
  workers.update(pod('a'));
  workers.terminate('a', { graceSeconds: 30, removed: true });
  await clock.advance(0);
  assert.deepEqual(syncer.calls, ['sync a', 'terminate a in 30 s', 'release a', 'purge a']);
  assert.deepEqual(gone, ['a']);
  assert.equal(workers.all.size, 0);
});

test('a grace period is shortened while the pod terminates, and never lengthened', async () => {
  const { clock, syncer, workers } = setUp();
  syncer.terminated = () => forever;
  workers.update(pod('a'));
  await clock.advance(0);
  workers.terminate('a', { graceSeconds: 30, removed: true });
  await clock.advance(0);
  workers.terminate('a', { graceSeconds: 5, removed: true });
  await clock.advance(0);
  workers.terminate('a', { graceSeconds: 60, removed: true });
  await clock.advance(0);
  assert.deepEqual(syncer.calls, ['sync a', 'terminate a in 30 s', 'terminate a in 5 s']);
});

test('a pod that ended by itself is purged only when it leaves its source', async () => {
  const { clock, syncer, workers, gone } = setUp();
  syncer.outcome = async () => ({ kind: 'ended' });
  workers.update(pod('a'));
  await clock.advance(0);
  assert.deepEqual(syncer.calls, ['sync a', 'terminate a in 30 s', 'release a']);
  assert.deepEqual(gone, []);
  workers.terminate('a', { graceSeconds: 30, removed: true });
  await clock.advance(0);
  assert.deepEqual(syncer.calls.slice(3), ['purge a']);
  assert.deepEqual(gone, ['a']);
});

test('a pod waits until the older pod with its name is finished', async () => {
  const { clock, syncer, workers } = setUp();
  const end = Promise.withResolvers<void>();
  syncer.terminated = () => end.promise;
  workers.update(pod('old', 'web'));
  await clock.advance(0);
  workers.terminate('old', { graceSeconds: 30, removed: true });
  workers.update(pod('new', 'web'));
  await clock.advance(0);
  assert.deepEqual(syncer.calls, ['sync old', 'terminate old in 30 s']);
  end.resolve();
  await clock.advance(0);
  assert.deepEqual(syncer.calls.slice(2), ['release old', 'sync new', 'purge old']);
});

test('a UID that comes back while it terminates starts again afterwards', async () => {
  const { clock, syncer, workers, gone } = setUp();
  const end = Promise.withResolvers<void>();
  syncer.terminated = () => end.promise;
  workers.update(pod('a'));
  await clock.advance(0);
  workers.terminate('a', { graceSeconds: 30, removed: true });
  workers.update(pod('a'));
  end.resolve();
  await clock.advance(0);
  assert.deepEqual(syncer.calls, ['sync a', 'terminate a in 30 s', 'release a', 'purge a', 'sync a']);
  assert.deepEqual(gone, []);
});

test('a UID that comes back while it terminates keeps its dead containers if it always restarts', async () => {
  for (const [isAdmitted, last] of [
    [true, 'restart a'],
    [false, 'purge a'],
  ] as const) {
    const { clock, syncer, workers, isAdmissible } = setUp();
    const plain = pod('a');
    const always = { ...plain, spec: { ...plain.spec, restartPolicy: 'Always' } };
    const end = Promise.withResolvers<void>();
    syncer.terminated = () => end.promise;
    workers.update(always);
    await clock.advance(0);
    workers.terminate('a', { graceSeconds: 30, removed: true });
    workers.update(always);
    isAdmissible.value = isAdmitted;
    end.resolve();
    await clock.advance(0);
    assert.deepEqual(syncer.calls, ['sync a', 'terminate a in 30 s', 'release a', last, 'sync a']);
  }
});

test('a removal drops the successor', async () => {
  const { clock, syncer, workers, gone } = setUp();
  const end = Promise.withResolvers<void>();
  syncer.terminated = () => end.promise;
  workers.update(pod('a'));
  await clock.advance(0);
  workers.terminate('a', { graceSeconds: 30, removed: true });
  workers.update(pod('a'));
  workers.terminate('a', { graceSeconds: 30, removed: true });
  end.resolve();
  await clock.advance(0);
  assert.deepEqual(gone, ['a']);
});

test('stopping the agent terminates no pod', async () => {
  const { clock, syncer, workers, life } = setUp();
  syncer.outcome = () => forever;
  workers.update(pod('a'));
  await clock.advance(0);
  life.abort(new Error('bye'));
  await workers.settled();
  assert.deepEqual(syncer.calls, ['sync a']);
});

test('a pod that cannot be purged releases its name', async () => {
  const { clock, syncer, workers, gone } = setUp();
  workers.update(pod('old', 'web'));
  await clock.advance(0);
  syncer.purge = async () => {
    throw new Error('the runtime does not let it go');
  };
  workers.terminate('old', { graceSeconds: 5, removed: true });
  workers.update(pod('new', 'web'));
  await clock.advance(0);
  assert.deepEqual(syncer.calls, ['sync old', 'terminate old in 5 s', 'release old', 'sync new']);
  assert.deepEqual(gone, []);
});

test('killAndWait() sets the failure and resolves when no container runs', async () => {
  const { clock, syncer, workers, gone } = setUp();
  const end = Promise.withResolvers<void>();
  syncer.terminated = () => end.promise;
  workers.update(pod('a'));
  await clock.advance(0);
  const failure = { phase: 'Failed', reason: 'Evicted', message: 'low on memory', disruption: true } as const;
  let isDone = false;
  void workers.killAndWait('a', { graceSeconds: 5, failure }).then(() => {
    isDone = true;
  });
  await clock.advance(0);
  assert.equal(isDone, false);
  end.resolve();
  await clock.advance(0);
  assert.equal(isDone, true);
  assert.deepEqual(workers.all.get('a')?.state, { phase: 'finished', failure });
  assert.deepEqual(gone, [], 'its source still has it');
  await workers.killAndWait('unknown', { graceSeconds: 5, failure });
});
