import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '../../base/log.ts';
import { exitedContainer, observedOf, READY, reportOf } from '../../kubelet/local-api/fake/scripted-view.ts';
import type { PodSource } from '../../kubelet/sources/pod-source.ts';
import { ScriptedAgent } from '../fake/scripted-agent.ts';
import { type ScriptedContextOptions, scriptedContext } from '../fake/scripted-context.ts';
import { firstDesiredPods } from './check-manifests.ts';
import type { RunOptions } from './run.ts';
import { runCommand } from './run-command.ts';

const GOOD = `{apiVersion: v1, kind: Pod, metadata: {name: hello},
  spec: {terminationGracePeriodSeconds: 7, containers: [{name: web, image: busybox}]}}`;
const BAD = '{apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {containers: []}}';

const defaults: RunOptions = {
  paths: ['/m/a.yaml'],
  once: false,
  allowEmpty: false,
  rootDir: '/var/lib/nodelet',
  stateDir: '/run/nodelet',
  podCidr: '10.87.0.0/16',
  registryConfigDirs: [],
  verbosity: 0,
  timeoutMs: 60_000,
};

interface Given extends ScriptedContextOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly options?: Partial<RunOptions>;
}

/** Starts `nodelet run` on a machine in memory; its agent has the pods of the manifests and waits for the test. */
async function start({ files = { '/m/a.yaml': GOOD }, options = {}, ...more }: Given = {}) {
  const agent = new ScriptedAgent();
  const scripted = scriptedContext(more);
  const { context, host } = scripted;
  await host.fs.makeDirectory('/m');
  for (const [path, text] of Object.entries(files)) await host.fs.writeFile(path, text);
  let source: PodSource | undefined;
  let log: Log = silentLog;
  const exitCode = runCommand({ ...defaults, ...options }, context, (_, given, __, ofRun) => {
    source = given;
    log = ofRun;
    return agent.wiring();
  });
  const working = async (): Promise<void> => {
    await Promise.race([agent.working.promise, exitCode]);
    const { pods } = await firstDesiredPods(source ?? assert.fail('nothing was started'));
    for (const pod of pods) agent.show(reportOf(pod));
  };
  const becomeReady = (): void => {
    for (const report of agent.pods()) agent.show({ ...report, status: READY });
  };
  return { ...scripted, agent, exitCode, working, becomeReady, log: () => log };
}

const WHOLE_LIFE = ['runtime started', 'run', 'drain', 'agent ended', 'connection closed', 'runtime stopped'];

test('run works until Ctrl-C, then ends its pods and leaves nothing behind', async () => {
  const { agent, exitCode, working, becomeReady, interrupt, written, host } = await start();
  await working();
  becomeReady();
  agent.drained.resolve();
  interrupt();
  assert.equal(await exitCode, 0);
  assert.deepEqual(agent.happened, WHOLE_LIFE);
  assert.equal(await host.fs.stat('/run/nodelet/nodelet.sock'), undefined);
  assert.deepEqual(written.stderr.split('\n'), [
    '✓ runtime    0 ms',
    'hello  ● ready',
    'hello    IP 10.87.0.5',
    'stopping 1 pod (grace 7 s; Ctrl-C again to kill at once)',
    'hello  ○ gone',
    'nothing left behind',
    '',
  ]);
});

test('run logs each failure of a pod once, and with --v each time', async () => {
  for (const [verbosity, count] of [
    [0, 1],
    [2, 3],
  ] as const) {
    const { agent, exitCode, working, becomeReady, interrupt, written, log } = await start({ options: { verbosity } });
    await working();
    becomeReady();
    for (let tries = 0; tries < 3; tries++) log().error('cannot sync', { pod: 'default/hello-box', error: 'no disk' });
    agent.drained.resolve();
    interrupt();
    assert.equal(await exitCode, 0);
    assert.equal(written.stderr.match(/no disk/g)?.length, count);
  }
});

test('run logs in words among its progress, also where it is not read on a terminal', async () => {
  const { agent, exitCode, working, interrupt, written, log } = await start();
  await working();
  log().error('cannot sync', { error: 'no disk' });
  agent.drained.resolve();
  interrupt();
  assert.equal(await exitCode, 0);
  assert.match(written.stderr, /^[\d:.]+ E cannot sync error="no disk"$/m);
});

test('run shows escape sequences of containers on a terminal, and writes only its own colours', async () => {
  const { agent, exitCode, working, interrupt, written, log, host } = await start({ terminals: ['stdout', 'stderr'] });
  await working();
  const hostile = '\u001b[2Jx\u009by';
  await host.fs.makeDirectory('/logs');
  await host.fs.writeFile('/logs/0', `2030-01-01T00:00:00Z stdout F ${hostile}\n`);
  const [report = assert.fail('no pod')] = agent.pods();
  agent.show({ ...report, observed: observedOf(report.pod, [exitedContainer('c', 'web', '/logs/0')]) });
  const event = {
    type: 'Warning',
    reason: 'Unhealthy',
    message: `failed: ${hostile}`,
    fieldPath: '',
    atMs: 0,
  } as const;
  agent.emit({ kind: 'event', pod: report.pod, event });
  log().error(hostile, { error: hostile });
  agent.drained.resolve();
  interrupt();
  assert.equal(await exitCode, 0);
  assert.ok(written.stdout.includes('hello/web |\u001b[0m ^[[2Jx\\u009by\n'), JSON.stringify(written.stdout));
  assert.equal(written.stderr.match(/2Jx\\u009by/g)?.length, 3);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
  assert.doesNotMatch(written.stdout + written.stderr, /\u001b(?!\[\d+m)|\u009b/);
});

test('run writes no colours where the user wants none', async () => {
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    const { agent, exitCode, working, becomeReady, interrupt, written, log } = await start({
      terminals: ['stdout', 'stderr'],
      env,
    });
    await working();
    becomeReady();
    log().error('cannot sync');
    agent.drained.resolve();
    interrupt();
    assert.equal(await exitCode, 0);
    assert.match(written.stderr, /● ready/);
    assert.ok(!written.stderr.includes('\u001b'), JSON.stringify(written.stderr));
  }
});

test('run says when its runtime leaves something behind, and fails', async () => {
  const { agent, exitCode, working, interrupt, written } = await start();
  agent.isClean = false;
  await working();
  agent.drained.resolve();
  interrupt();
  assert.equal(await exitCode, 1);
  assert.match(written.stderr, /^something is left behind; the next 'nodelet run' removes it$/m);
});

test('run waits until its runtime has taken back what was half made, and looks whether that came to something', async () => {
  const { agent, exitCode, working, interrupt, host } = await start();
  agent.halfMade = 2;
  await working();
  agent.drained.resolve();
  interrupt();
  assert.equal(await host.clock.runUntil(exitCode), 0);
  assert.deepEqual(agent.happened.slice(2, 6), ['drain', 'drain', 'drain', 'agent ended']);
});

test('run kills its pods at the second Ctrl-C', async () => {
  const { agent, exitCode, working, interrupt } = await start();
  await working();
  interrupt();
  interrupt();
  assert.equal(await exitCode, 0);
  assert.deepEqual(
    agent.stopped.map((stop) => stop.split(' ')[1]),
    ['0'],
  );
  assert.deepEqual(agent.happened, WHOLE_LIFE);
});

test('run gives up at the third Ctrl-C', async () => {
  const { agent, exitCode, working, interrupt, written } = await start();
  agent.stopPod = () => new Promise(() => {});
  await working();
  for (let presses = 0; presses < 3; presses++) interrupt();
  assert.equal(await exitCode, 1);
  assert.match(written.stderr, /given up; the next 'nodelet run' takes over what is left$/m);
});

test('run ends after the grace periods and half a minute, whatever hangs', async () => {
  const { exitCode, working, interrupt, written, host } = await start();
  await working();
  interrupt('SIGTERM');
  assert.equal(await host.clock.runUntil(exitCode), 1);
  const expected = /^nodelet run: cannot end within 37 s, the next start takes over what is left: hello$/m;
  assert.match(written.stderr, expected);
});

test('run ends soon after the second Ctrl-C, whatever hangs', async () => {
  const { agent, exitCode, working, interrupt, written, host } = await start();
  agent.stopPod = () => new Promise(() => {});
  await working();
  interrupt();
  interrupt();
  assert.equal(await host.clock.runUntil(exitCode), 1);
  assert.match(written.stderr, /^nodelet run: cannot end at once, the next start takes over what is left: hello$/m);
});

test('run ends though its start hangs', async () => {
  const { context, host, interrupt } = scriptedContext();
  await host.fs.makeDirectory('/m');
  await host.fs.writeFile('/m/a.yaml', GOOD);
  const begun = Promise.withResolvers<void>();
  const startRuntime = (): Promise<never> => {
    begun.resolve();
    return new Promise(() => {});
  };
  const exitCode = runCommand(defaults, context, () => new ScriptedAgent().wiring({ startRuntime }));
  await begun.promise;
  interrupt('SIGTERM');
  assert.equal(await host.clock.runUntil(exitCode), 1);
});

test('run --once ends when its pods are ready', async () => {
  const { agent, exitCode, working, becomeReady } = await start({ options: { once: true } });
  agent.drained.resolve();
  await working();
  becomeReady();
  assert.equal(await exitCode, 0);
  assert.deepEqual(agent.happened, WHOLE_LIFE);
});

test('run --once fails when a pod fails', async () => {
  const { agent, exitCode, working } = await start({ options: { once: true } });
  agent.drained.resolve();
  await working();
  for (const report of agent.pods()) agent.show({ ...report, status: { phase: 'Failed', reason: 'Evicted' } });
  assert.equal(await exitCode, 1);
});

test('run --once fails when its pods are not ready in time', async () => {
  const { agent, exitCode, working, host, written } = await start({ options: { once: true } });
  agent.drained.resolve();
  await working();
  await host.clock.advance(60_000);
  assert.equal(await exitCode, 1);
  assert.match(written.stderr, /^nodelet run: not ready after 60 s: hello \(Pending\)$/m);
});

test('run --once runs the other pods of a manifest with an error, and fails', async () => {
  const { agent, exitCode, working, becomeReady, written } = await start({
    files: { '/m/a.yaml': GOOD, '/m/b.yaml': BAD },
    options: { once: true, paths: ['/m'] },
  });
  agent.drained.resolve();
  await working();
  becomeReady();
  assert.equal(await exitCode, 1);
  assert.match(written.stderr, /^✗ \/m\/b.yaml:1:\d+: spec.containers: Required value\n/);
  assert.match(written.stderr, /^hello {2}● ready$/m);
});

test('run fails when the agent fails, and leaves its pods to the next one', async () => {
  const { agent, exitCode, working, written } = await start();
  await working();
  agent.failure.reject(new Error('the runtime is gone'));
  assert.equal(await exitCode, 1);
  assert.deepEqual(agent.happened, ['runtime started', 'run', 'agent ended', 'connection closed', 'runtime stopped']);
  assert.equal(
    written.stderr,
    "✓ runtime    0 ms\nnodelet run: the agent failed: the runtime is gone; the next 'nodelet run' takes its pods over\n",
  );
});

test('run uses the first of two pods of one name and reports the other', async () => {
  const { agent, exitCode, working, becomeReady, written } = await start({
    files: { '/m/a.yaml': GOOD, '/m/b.yaml': GOOD },
    options: { once: true, paths: ['/m'] },
  });
  agent.drained.resolve();
  await working();
  becomeReady();
  assert.equal(await exitCode, 1);
  assert.equal(
    written.stderr.split('\n')[0],
    '✗ default/hello-box: another pod of this name comes first in the same source',
  );
});

const refused: Record<string, { given: Given; error: { message: string; exitCode: number } }> = {
  'a missing file': {
    given: { options: { paths: ['/m/x.yaml'] } },
    error: { message: 'cannot read /m/x.yaml: no such file', exitCode: 2 },
  },
  'standard input': {
    given: { options: { paths: ['-'] } },
    error: { message: 'standard input cannot be watched; name a file', exitCode: 2 },
  },
  'a user who is not root': {
    given: { isRoot: false },
    error: { message: 'only root can run containers; try again with sudo', exitCode: 1 },
  },
  'another system': {
    given: { platform: 'darwin' },
    error: { message: 'containers need Linux, and this is darwin', exitCode: 1 },
  },
};

for (const [name, { given, error }] of Object.entries(refused)) {
  test(`run refuses ${name} before it starts anything`, async () => {
    const { agent, exitCode } = await start(given);
    await assert.rejects(exitCode, error);
    assert.deepEqual(agent.happened, []);
  });
}

const unusable: Record<string, { files: Record<string, string>; stderr: RegExp }> = {
  'with an error in each': { files: { '/m/a.yaml': BAD }, stderr: /^✗ \/m\/a.yaml:1:\d+: spec.containers: Required/ },
  'without pods': { files: { '/m/a.yaml': '# nothing yet\n' }, stderr: /^nodelet run: no pods in \/m\/a.yaml\n$/ },
};

for (const [name, { files, stderr }] of Object.entries(unusable)) {
  test(`run refuses manifests ${name} before it starts anything`, async () => {
    const { agent, exitCode, written } = await start({ files });
    assert.equal(await exitCode, 2);
    assert.match(written.stderr, stderr);
    assert.deepEqual(agent.happened, []);
  });
}

test('run with --allow-empty goes on without pods, and reports its start and its end to the service manager', async () => {
  const files = { '/m/a.yaml': '# nothing yet\n' };
  const { agent, exitCode, working, interrupt, host } = await start({ files, options: { allowEmpty: true } });
  await working();
  await host.clock.advance(0);
  agent.drained.resolve();
  interrupt('SIGTERM');
  assert.equal(await exitCode, 0);
  const { received } = host.serviceManager;
  assert.ok(received.findIndex(({ ready }) => ready) < received.findIndex(({ stopping }) => stopping));
});

test('run refuses to be the second agent of a state folder', async () => {
  const { context, working, interrupt, agent, exitCode } = await start();
  await working();
  await assert.rejects(
    runCommand(defaults, context, () => new ScriptedAgent().wiring()),
    { name: 'StartupError', message: 'another agent is running (pid 42, /run/nodelet/nodelet.sock)' },
  );
  agent.drained.resolve();
  interrupt();
  assert.equal(await exitCode, 0);
});
