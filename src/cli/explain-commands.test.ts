import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startLocalAgent } from '../app/start-local-agent.ts';
import type { Step } from '../kubelet/events/timeline.ts';
import { READY, reportOf, staticPod } from '../kubelet/local-api/fake/scripted-view.ts';
import { timelineCommand } from './commands/timeline-command.ts';
import { topCommand } from './commands/top-command.ts';
import { whyCommand } from './commands/why-command.ts';
import { ScriptedAgent } from './fake/scripted-agent.ts';
import { scriptedContext } from './fake/scripted-context.ts';

const client = { stateDir: '/run/nodelet', namespace: undefined };
const hello = { ...client, pod: 'hello', output: 'text' } as const;

/** An agent in memory with the pod `hello`, whose sandbox could not be made at first. */
async function setUp(t: TestContext) {
  const scripted = scriptedContext();
  const { fs, network, clock } = scripted.host;
  const agent = new ScriptedAgent();
  const identity = { version: '1.2.3', pid: 42 };
  const local = await startLocalAgent({ ...client, identity, fs, network, clock }, agent.wiring(), t.signal);
  t.after(() => local.stop());
  const began = clock.now();
  const step = (name: Step['name'], atMs: number, tookMs: number, error?: string) => ({
    name,
    subject: undefined,
    startedMs: began + atMs,
    outcome: error === undefined ? { kind: 'done' as const, tookMs } : { kind: 'failed' as const, tookMs, error },
  });
  const steps = [step('volumes', 0, 20), step('sandbox', 20, 100, 'no network')];
  const error = 'no network';
  agent.show(
    reportOf(staticPod(), {
      steps,
      progress: {
        phaseSinceMs: began,
        removed: false,
        nextSyncMs: began + 12_000,
        backoffEndsMs: undefined,
        graceEndsMs: undefined,
        lastError: { error, atMs: began + 120, consecutive: 1 },
      },
    }),
  );
  clock.jump(5120);
  return { ...scripted, agent };
}

test('why prints the summary, then its reasons', async (t) => {
  const { context, written } = await setUp(t);
  assert.equal(await whyCommand(hello, context), 0);
  assert.deepEqual(written, {
    stdout: [
      'hello is not ready: the creation of its sandbox fails.',
      '  The creation of its sandbox failed 5 s ago: no network.',
      '  It is tried again in 7 s.',
      '',
    ].join('\n'),
    stderr: '',
  });
});

test('why answers programs in JSON', async (t) => {
  const { context, written, agent } = await setUp(t);
  agent.show(reportOf(staticPod(), { status: READY }));
  assert.equal(await whyCommand({ ...hello, output: 'json' }, context), 0);
  assert.deepEqual(JSON.parse(written.stdout), {
    pod: 'default/hello-box',
    sentences: ['hello is running and ready.'],
  });
});

test('timeline prints the steps of a pod', async (t) => {
  const { context, written } = await setUp(t);
  assert.equal(await timelineCommand(hello, context), 0);
  assert.deepEqual(written.stdout.split('\n'), [
    '     AT    TOOK                            STEP',
    '  +0 ms   20 ms  ████                      volumes',
    ' +20 ms  100 ms      ████████████████████  sandbox  ✗ no network',
    '+120 ms     5 s  ························  waits: the next try',
    '',
  ]);
});

test('timeline says that there is nothing to show', async (t) => {
  const { context, written, agent } = await setUp(t);
  agent.show(reportOf(staticPod()));
  assert.equal(await timelineCommand(hello, context), 0);
  assert.deepEqual(written, { stdout: '', stderr: 'Nothing has been done for this pod yet.\n' });
});

test('timeline answers programs in JSON', async (t) => {
  const { context, written } = await setUp(t);
  await timelineCommand({ ...hello, output: 'json' }, context);
  const { pod, steps, waits } = JSON.parse(written.stdout);
  assert.deepEqual([pod, steps.length, waits.length], ['default/hello-box', 2, 1]);
});

test('why and timeline fail for a pod that is not there', async (t) => {
  const { context } = await setUp(t);
  for (const command of [whyCommand, timelineCommand]) {
    await assert.rejects(command({ ...hello, pod: 'other' }, context), { message: 'pods "other" not found' });
  }
});

const sandboxSteps = {
  step: 'sandbox',
  lastHour: { count: 60, p50Ms: 40, p90Ms: 80, p99Ms: 1200, maxMs: 4000 },
  buckets: [],
  sumSeconds: 9,
  count: 200,
} as const;

test('top --starts prints the steps of the last hour', async (t) => {
  const { context, written, agent } = await setUp(t);
  agent.steps.push({ step: 'cgroup', buckets: [], sumSeconds: 1, count: 3 }, sandboxSteps);
  assert.equal(await topCommand({ stateDir: client.stateDir, output: 'table' }, context), 0);
  assert.deepEqual(written, {
    stdout: 'STEP      COUNT   P50     P90     P99     MAX\nsandbox   60      40 ms   80 ms   1.2 s   4 s\n',
    stderr: '',
  });
});

test('top --starts says that no pod has started', async (t) => {
  const { context, written } = await setUp(t);
  assert.equal(await topCommand({ stateDir: client.stateDir, output: 'table' }, context), 0);
  assert.deepEqual(written, { stdout: '', stderr: 'No pod has started in the last hour.\n' });
});

test('top --starts --json prints what the agent answers', async (t) => {
  const { context, written, agent } = await setUp(t);
  agent.steps.push(sandboxSteps);
  assert.equal(await topCommand({ stateDir: client.stateDir, output: 'json' }, context), 0);
  assert.deepEqual(JSON.parse(written.stdout), { steps: [sandboxSteps] });
});
