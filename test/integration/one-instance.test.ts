/** A root directory belongs to one instance at a time; the next one removes the resources of a crashed one. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { claimSubnet } from './claimed-subnet.ts';
import { type RunningNodelet, TestNodelet, watch } from './nodelet-fixture.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const IMAGE = 'localhost/nodelet/busybox:1';
const SLEEPER = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 5
  containers:
  - {name: main, image: "${IMAGE}", command: [sh, -c, "trap 'exit 0' TERM; echo up; sleep 1000 & wait"]}
`;

function nodeletFor(t: TestContext): TestNodelet {
  const nodelet = new TestNodelet();
  t.after(() => nodelet.cleanUp());
  return nodelet;
}

/** `nodelet run` on the same root, with its own state directory and addresses. */
function runElsewhere(nodelet: TestNodelet, ...args: string[]) {
  const podCidr = claimSubnet().v4;
  const stateDir = join(nodelet.folder, 'state-2');
  const run = nodelet.run('--state', stateDir, '--pod-cidr', podCidr, ...args);
  return { run, podCidr, stateDir };
}

/** `nodelet image load` that waits for its archive and holds the lock; ends when its input does. */
async function slowImageCommand(t: TestContext, { rootDir, stateDir }: { rootDir: string; stateDir: string }) {
  const command = spawn(BIN, ['image', 'load', '--root', rootDir, '--state', stateDir]);
  t.after(() => command.kill('SIGKILL'));
  while (!existsSync(join(rootDir, 'runtime/storage'))) await delay(20);
  return command;
}

function spawnCri(t: TestContext, folder: string, rootDir: string, stateDir: string): RunningNodelet {
  const places = ['--root', rootDir, '--state', stateDir, '--listen', `unix://${folder}/cri.sock`];
  const command = spawn(BIN, ['cri', ...places], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => command.kill('SIGKILL'));
  return watch(command);
}

function masqueradeRules(podCidr: string): string[] {
  const saved = execFileSync('iptables-save', ['-t', 'nat'], { encoding: 'utf8' });
  return saved.split('\n').filter((line) => line.includes(podCidr));
}

async function stopped(run: RunningNodelet): Promise<number> {
  run.process.kill('SIGTERM');
  return run.exited;
}

async function inputEnded(command: ChildProcess): Promise<void> {
  const exited = once(command, 'exit');
  command.stdin?.end();
  await exited;
}

suite('one instance for each root', { skip: embeddedSkipReason(), timeout: 600_000 }, () => {
  test('a second instance with another --state is rejected, and touches no pod of the first', async (t) => {
    const nodelet = nodeletFor(t);
    const manifest = nodelet.write('web.yaml', SLEEPER);
    const first = nodelet.run(manifest);
    await first.line(/● ready/);
    const containers = async () => (await nodelet.command('ps', '-o', 'json')).stdout.match(/"\w+:\/\/[0-9a-f]{64}"/g);
    const before = await containers();
    const second = runElsewhere(nodelet, manifest);
    assert.equal(await second.run.exited, 1, second.run.output());
    const message = `--root: ${nodelet.rootDir} is in use by another agent (pid ${first.process.pid})`;
    assert.ok(second.run.output().includes(message), second.run.output());
    const cri = spawnCri(t, nodelet.folder, nodelet.rootDir, second.stateDir);
    assert.equal(await cri.exited, 1, cri.output());
    assert.ok(cri.output().includes(`is in use by another agent (pid ${first.process.pid})`), cri.output());
    const list = spawn(BIN, ['image', 'ls', '--root', nodelet.rootDir, '--state', second.stateDir]);
    assert.deepEqual(await once(list, 'exit'), [1, null]);
    assert.deepEqual(await containers(), before);
    assert.equal(await stopped(first), 0, first.output());
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('the masquerade rule of a crashed instance is removed by the next one, whatever its --state', async (t) => {
    const nodelet = nodeletFor(t);
    const manifest = nodelet.write('web.yaml', SLEEPER);
    const first = runElsewhere(nodelet, manifest);
    await first.run.line(/● ready/);
    first.run.process.kill('SIGKILL');
    await first.run.exited;
    assert.equal(masqueradeRules(first.podCidr).length, 1);
    const second = nodelet.run(manifest);
    await second.line(/● ready/);
    assert.deepEqual(masqueradeRules(first.podCidr), []);
    assert.equal(await stopped(second), 0, second.output());
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('an agent that starts while nodelet image holds the lock waits for it', async (t) => {
    const nodelet = nodeletFor(t);
    const manifest = nodelet.write('web.yaml', SLEEPER);
    const image = await slowImageCommand(t, nodelet);
    const waitsFor = (folder: string): RegExp =>
      new RegExp(`waiting for an image command \\(pid \\d+\\) that uses ${folder}\\b`);
    const waits = waitsFor(nodelet.stateDir);
    const abandoned = nodelet.run(manifest);
    await abandoned.line(waits);
    assert.equal(await stopped(abandoned), 1, abandoned.output());
    const run = nodelet.run(manifest);
    await run.line(waits);
    const cri = spawnCri(t, nodelet.folder, nodelet.rootDir, nodelet.stateDir);
    await cri.line(waits);
    assert.equal(await stopped(cri), 0, cri.output());
    const elsewhere = spawnCri(t, nodelet.folder, nodelet.rootDir, join(nodelet.folder, 'state-2'));
    await elsewhere.line(waitsFor(nodelet.rootDir));
    assert.equal(await stopped(elsewhere), 0, elsewhere.output());
    await inputEnded(image);
    await run.line(/● ready/);
    assert.equal(await stopped(run), 0, run.output());
  });
});
