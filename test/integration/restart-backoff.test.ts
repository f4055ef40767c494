/** A crashing container restarts when its back-off ends, measured from its exit: not at a tick. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { ContainerStatusResponse, CreateContainerRequest } from '../../src/cri/generated/runtime-v1.ts';
import { podOf } from '../agent/memory-agent.ts';
import { shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { type CriCall, median } from './cri-calls.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';

const PAUSE_MS = 1_000;
const RESTARTS = 5;
/** The back-off has millisecond resolution. */
const ROUNDING_MS = 2;

interface Restart {
  readonly create: CriCall;
  readonly start: CriCall;
  /** On the clock of `performance.now()`, as all times here. */
  readonly pauseEndsMs: number;
  /** When the agent observed the exit that the back-off is for. */
  readonly observedMs: number;
}

suite('the pause of a container that keeps ending', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  let restarts: readonly Restart[] = [];

  before(async () => {
    it = await startTestAgent({ maxContainerRestartPeriodMs: PAUSE_MS });
    const started = new Promise<void>((resolve) => {
      it.agent.subscribe(({ kind }) => {
        if (kind === 'step' && callsOf('StartContainer').length > RESTARTS) resolve();
      });
    });
    it.source.set(podOf('crash', { containers: [shell('main', 'exit 1')] }));
    await started;
    restarts = restartsAfterAPause();
  });
  after(() => it.stop());

  function callsOf(method: string): CriCall[] {
    return it.calls.all.filter((call) => call.method === method);
  }

  /** The first restart has no back-off. */
  function restartsAfterAPause(): Restart[] {
    const starts = callsOf('StartContainer');
    return callsOf('CreateContainer').flatMap((create, index) => {
      const start = starts[index];
      if (index < 2 || !start) return [];
      const { endedMs, observedMs } = endOf(attemptOf(create) - 1);
      return [{ create, start, pauseEndsMs: endedMs + PAUSE_MS, observedMs }];
    });
  }

  function attemptOf({ request }: CriCall): number {
    return (request as CreateContainerRequest).config?.metadata?.attempt ?? 0;
  }

  /** As reported by the runtime. */
  function endOf(attempt: number): { readonly endedMs: number; readonly observedMs: number } {
    const [end] = callsOf('ContainerStatus').flatMap(({ result, endMs: observedMs }) => {
      const status = (result as ContainerStatusResponse | undefined)?.status;
      const isEnd = status?.metadata?.attempt === attempt && status.finishedAt > 0n;
      return isEnd ? [{ endedMs: Number(status.finishedAt / 1000n) / 1000 - performance.timeOrigin, observedMs }] : [];
    });
    return end ?? assert.fail(`restart ${attempt} has not ended`);
  }

  test('is observed', () => {
    assert.ok(restarts.length >= RESTARTS - 2, `${restarts.length} restarts`);
    for (const { create, pauseEndsMs } of restarts) assert.ok(create.startMs > pauseEndsMs - ROUNDING_MS);
  });

  test('is not followed by another wait: no timer is set between its end and the start', () => {
    for (const { create, pauseEndsMs } of restarts) {
      const waits = it.clock.sleeps.filter(
        ({ startMs, rangMs = 0 }) => startMs > pauseEndsMs + ROUNDING_MS && rangMs > 0 && rangMs < create.startMs,
      );
      assert.deepEqual(waits, []);
    }
  });

  test('ends with the timer that was set when the container had exited', (t) => {
    const late = restarts.map(({ create, pauseEndsMs }) => create.startMs - pauseEndsMs);
    const took = restarts.map(({ create, start }) => start.endMs - create.startMs);
    t.diagnostic(
      `late by ${late.map((ms) => ms.toFixed(1)).join(', ')} ms; the start took ${median(took).toFixed(1)} ms`,
    );
    for (const { create, pauseEndsMs, observedMs } of restarts) {
      const timers = it.clock.sleeps.filter(
        ({ ms, startMs, rangMs }) =>
          rangMs !== undefined &&
          rangMs < create.startMs &&
          startMs + ms > pauseEndsMs - ROUNDING_MS &&
          observedMs + ms < pauseEndsMs + ROUNDING_MS,
      );
      assert.equal(timers.length, 1, `late by ${create.startMs - pauseEndsMs} ms`);
    }
  });
});
