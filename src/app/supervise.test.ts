import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvariantError } from '../base/invariant-error.ts';
import { silentLog } from '../base/log.ts';
import { type Part, supervise } from '../base/supervise.ts';
import { UnhandledErrors } from '../base/unhandled-errors.ts';
import { VirtualClock } from '../host/fake/virtual-clock.ts';

const BUG = new TypeError('a bug');

/** Ends as each run of the script says; further runs last until they are stopped. */
type Run = (signal: AbortSignal) => Promise<void>;

function setUp(runs: readonly Run[], more: Partial<Part> = {}) {
  const clock = new VirtualClock();
  const unhandled = new UnhandledErrors({ clock, log: silentLog });
  const life = new AbortController();
  const starts: number[] = [];
  const signals: AbortSignal[] = [];
  const beganMs = clock.monotonic();
  const run: Run = (signal) => {
    starts.push(clock.monotonic() - beganMs);
    signals.push(signal);
    return (runs[starts.length - 1] ?? untilAborted)(signal);
  };
  const state = { ended: false, error: undefined as unknown };
  const done = supervise({ name: 'watch', run, isEndless: true, ...more }, { clock, unhandled }, life.signal).then(
    () => {
      state.ended = true;
    },
    (error: unknown) => {
      state.error = error;
    },
  );
  return { clock, unhandled, life, starts, signals, state, done };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

async function rejects(): Promise<never> {
  throw BUG;
}

function throws(): never {
  throw BUG;
}

async function returns(): Promise<void> {}

const FAILURES: Readonly<Record<string, { readonly run: Run; readonly reason: string }>> = {
  rejects: { run: rejects, reason: 'a bug' },
  'throws synchronously': { run: throws, reason: 'a bug' },
  'returns before it is stopped': { run: returns, reason: 'watch ended by itself' },
};

for (const [name, { run, reason }] of Object.entries(FAILURES)) {
  test(`a part that ${name} is counted, shown as failed, and restarted after a second`, async () => {
    const { clock, unhandled, starts, signals } = setUp([run]);
    await clock.advance(0);
    assert.equal(unhandled.failedParts(), `watch has failed: ${reason}`);
    assert.equal(signals[0]?.aborted, true);
    await clock.advance(999);
    assert.deepEqual(starts, [0]);
    await clock.advance(1);
    assert.deepEqual([starts, signals[1]?.aborted], [[0, 1000], false]);
    assert.deepEqual([[...unhandled.counts], [...unhandled.restarts]], [[['watch', 1]], [['watch', 1]]]);
  });
}

test('the delay doubles up to a minute, and starts again after a long run', async () => {
  const long: Run = async (signal) => {
    await clock.sleep(120_000, signal);
    throw BUG;
  };
  const { clock, starts } = setUp([...Array.from({ length: 8 }, () => rejects), long, rejects]);
  await clock.advance(1_000_000);
  const restarts = [0, 1, 3, 7, 15, 31, 63, 123, 183, 304, 306];
  assert.deepEqual(
    starts,
    restarts.map((seconds) => seconds * 1000),
  );
});

test('a restarted part counts as failed until it has run for thirty seconds', async () => {
  const { clock, unhandled } = setUp([rejects]);
  await clock.advance(1_000 + 29_999);
  assert.equal(unhandled.failedParts(), 'watch has failed: a bug');
  await clock.advance(1);
  assert.equal(unhandled.failedParts(), undefined);
});

test('a part that may finish is not restarted', async () => {
  const { clock, unhandled, starts, state } = setUp([rejects, returns], { isEndless: false });
  await clock.advance(100_000);
  assert.deepEqual([starts.length, state.ended, unhandled.failedParts()], [2, true, undefined]);
});

for (const [name, waitMs, runs] of [
  ['while it runs', 0, []],
  ['while it waits for a restart', 500, [rejects]],
] as const) {
  test(`a part that is stopped ${name} is neither failed nor restarted`, async () => {
    const { clock, unhandled, life, starts, state, done } = setUp(runs);
    await clock.advance(waitMs);
    life.abort(new Error('bye'));
    await done;
    await clock.advance(100_000);
    assert.deepEqual(
      [starts.length, state, unhandled.failedParts()],
      [1, { ended: true, error: undefined }, undefined],
    );
  });
}

test('an error of a part that is being stopped is not reported', async () => {
  const run: Run = async (signal) => {
    await untilAborted(signal);
    throw signal.reason;
  };
  const { clock, unhandled, life, state, done } = setUp([run]);
  await clock.advance(0);
  life.abort(new Error('bye'));
  await done;
  assert.deepEqual([state.ended, unhandled.counts.size], [true, 0]);
});

test('a fatal error is passed on', async () => {
  const { clock, unhandled, state } = setUp([rejects], { isFatal: (error) => error === BUG });
  await clock.advance(0);
  assert.deepEqual([state.error, unhandled.counts.size], [BUG, 0]);
});

test('a broken invariant is passed on and reported, also as a cause and while the part is stopped', async () => {
  const broken = new InvariantError('two owners');
  const { clock, unhandled, life, state, done } = setUp([
    async (signal) => {
      await untilAborted(signal);
      throw new Error('cannot stop', { cause: broken });
    },
  ]);
  const ended = assert.rejects(unhandled.untilBroken(new AbortController().signal), { cause: broken });
  await clock.advance(0);
  life.abort();
  await done;
  await ended;
  assert.equal((state.error as Error).cause, broken);
});
