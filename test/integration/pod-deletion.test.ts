/** Deleting a pod that stops at once costs little more than its CRI calls. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { busyMs, type CriCall, median } from './cri-calls.ts';
import { runtimeSkipReason, TEST_RUNTIME } from './runtime-fixture.ts';

const DELETIONS = 10;
/** On a busy machine more deletions are tried. */
const MOST_DELETIONS = 100;

/**
 * The allowed ratio of a deletion to its calls. The agent's own part, directories and cgroups, is the same on every
 * runtime; the calls of the embedded one take half as long.
 */
const BOUND = TEST_RUNTIME === 'embedded' ? 1.3 : 1.1;

interface Deletion {
  readonly tookMs: number;
  readonly calls: readonly CriCall[];
}

suite('deleting a pod that stops at once', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  const deletions: Deletion[] = [];

  before(async () => {
    it = await startTestAgent();
    const isEnough = (): boolean => deletions.length >= MOST_DELETIONS || quickest() <= BOUND;
    while (deletions.length < DELETIONS || !isEnough()) deletions.push(await runAndDelete(`pod-${deletions.length}`));
  });
  after(() => it.stop());

  /** The ratio of the duration to the calls, for all deletions: the time between the calls is in each, noise is not. */
  function quickest(): number {
    return Math.min(...deletions.map(({ tookMs, calls }) => tookMs / busyMs(calls)));
  }

  async function runAndDelete(name: string): Promise<Deletion> {
    const ready = it.ready(name);
    it.source.set(podOf(name, { containers: [shell('main', EXITS_ON_SIGTERM)] }));
    await ready;
    await it.listening(name, 'main');
    const gone = it.gone(name);
    const startMs = performance.now();
    it.source.set();
    const endMs = await gone;
    return { tookMs: endMs - startMs, calls: it.calls.within({ startMs, endMs }) };
  }

  test('stops and removes each part once', () => {
    for (const { calls } of deletions) {
      const changes = calls.map(({ method }) => method).filter((method) => /^(Stop|Remove)/.test(method));
      assert.deepEqual(changes, ['StopContainer', 'StopPodSandbox', 'RemoveContainer', 'RemovePodSandbox']);
    }
  });

  test(`costs no more than ${BOUND} times its CRI calls`, (t) => {
    const took = median(deletions.map(({ tookMs }) => tookMs));
    const ratio = median(deletions.map(({ tookMs, calls }) => tookMs / busyMs(calls)));
    t.diagnostic(`a deletion took ${took.toFixed(1)} ms: ${ratio.toFixed(3)} times its calls to the runtime`);
    assert.ok(quickest() <= BOUND, `${quickest()} times its calls to the runtime, or more`);
  });
});
