/** Deleting a pod that stops at once costs little more than its calls to the runtime. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { podOf } from '../agent/memory-agent.ts';
import { OBEDIENT, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { busyMs, type CriCall, median } from './cri-calls.ts';
import { runtimeSkipReason, TEST_RUNTIME } from './runtime-fixture.ts';

const DELETIONS = 10;

/**
 * How many times its calls a deletion may take. The agent's own part, folders and control groups, is the same on every
 * runtime; the calls of the embedded one take half as long.
 */
const BOUND = TEST_RUNTIME === 'containerd' ? 1.1 : 1.3;

interface Deletion {
  readonly tookMs: number;
  readonly calls: readonly CriCall[];
}

suite('deleting a pod that stops at once', { skip: runtimeSkipReason(), timeout: 60_000 }, () => {
  let it: TestAgent;
  const deletions: Deletion[] = [];

  before(async () => {
    it = await startTestAgent();
    for (let count = 0; count < DELETIONS; count++) deletions.push(await runAndDelete(`pod-${count}`));
  });
  after(() => it.stop());

  async function runAndDelete(name: string): Promise<Deletion> {
    const ready = it.ready(name);
    it.source.set(podOf(name, { containers: [shell('main', OBEDIENT)] }));
    await ready;
    await it.listening(name, 'main');
    const gone = it.gone(name);
    const startMs = performance.now();
    it.source.set();
    const endMs = await gone;
    return { tookMs: endMs - startMs, calls: it.calls.within({ startMs, endMs }) };
  }

  test('changes each part of it once', () => {
    for (const { calls } of deletions) {
      const changes = calls.map(({ method }) => method).filter((method) => /^(Stop|Remove)/.test(method));
      assert.deepEqual(changes, ['StopContainer', 'StopPodSandbox', 'RemoveContainer', 'RemovePodSandbox']);
    }
  });

  test(`costs no more than ${BOUND} times its calls to the runtime`, (t) => {
    const took = median(deletions.map(({ tookMs }) => tookMs));
    const ratio = median(deletions.map(({ tookMs, calls }) => tookMs / busyMs(calls)));
    t.diagnostic(`a deletion took ${took.toFixed(1)} ms: ${ratio.toFixed(3)} times its calls to the runtime`);
    assert.ok(ratio <= BOUND, `${ratio} times its calls to the runtime`);
  });
});
