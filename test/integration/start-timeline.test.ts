/** A pod start never waits for a timer: each step follows the previous one, or the exit of the container it needs. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import type { Step } from '../../src/kubelet/events/timeline.ts';
import { type StepGap, startGaps } from '../../src/kubelet/explain/step-gaps.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import type { RecordedSleep } from './recorded-clock.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';

/** Below any polling period of an agent. A busy machine may need that long between two steps, too. */
const IDLE_MS = 500;

const FIRST = podOf('first', { containers: [shell('main', EXITS_ON_SIGTERM)] });

suite('the timeline of a starting pod', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  let steps: readonly Step[] = [];
  let interval = { startMs: 0, endMs: 0 };

  before(async () => {
    it = await startTestAgent();
    // Once one pod is up, the agent is subscribed to the events of its runtime.
    const first = it.ready('first');
    it.source.set(FIRST);
    await first;
    const ready = it.ready('web');
    const startMs = performance.now();
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    it.source.set(
      FIRST,
      podOf('web', {
        volumes: [{ name: 'data', emptyDir: {} }],
        initContainers: [
          { ...shell('prepare', 'echo prepared > /data/page'), volumeMounts },
          { ...shell('proxy', EXITS_ON_SIGTERM), restartPolicy: 'Always' },
        ],
        containers: [{ ...shell('main', EXITS_ON_SIGTERM), volumeMounts }],
      }),
    );
    interval = { startMs, endMs: await ready };
    steps = it.report('web').steps;
  });
  after(() => it.stop());

  test('has every step once, in order', () => {
    assert.deepEqual(
      steps.map(({ name, subject }) => (subject ? `${name} ${subject}` : name)),
      [
        'directories',
        'cgroup',
        'volumes',
        'sandbox',
        ...['prepare', 'proxy', 'main'].flatMap((name) => [
          `image ${BUSYBOX_IMAGE}`,
          `create container ${name}`,
          `start container ${name}`,
        ]),
      ],
    );
  });

  /** The timers that were set meanwhile. Periodic work of the agent has its timers already. */
  function timersThatRang(): readonly Required<RecordedSleep>[] {
    const { startMs: from, endMs } = interval;
    const regular = new Set(it.clock.sleeps.filter(({ startMs }) => startMs < from).map(({ ms }) => ms));
    return it.clock.sleeps.flatMap(({ ms, startMs, rangMs }) =>
      startMs >= from && rangMs !== undefined && rangMs <= endMs && !regular.has(ms) ? [{ ms, startMs, rangMs }] : [],
    );
  }

  test('waits for no timer', () => {
    const isForTimer = ({ fromMs, tookMs }: StepGap): boolean =>
      timersThatRang().some(({ ms, rangMs }) => {
        const intoGapMs = rangMs + performance.timeOrigin - fromMs;
        return ms > tookMs / 2 && intoGapMs > 0 && intoGapMs < tookMs;
      });
    assert.deepEqual(startGaps(steps, IDLE_MS).filter(isForTimer), []);
  });

  test('waits only for the polls until the runtime shows an exit that it has announced', () => {
    const rang = timersThatRang().map(({ ms }) => ms);
    // One container exits. containerd sends the event before its CRI shows the exit: polled after 1 ms, 2 ms, 4 ms …
    assert.deepEqual(
      rang,
      rang.map((_, index) => 2 ** index),
    );
  });
});
