/** The output of `nodelet run` and its companions as a user sees it: on a terminal, in a pipe, after Ctrl-C. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestNodelet } from './nodelet-fixture.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { until } from './until.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const IMAGE = 'localhost/nodelet/busybox:1';
/** Clears the screen and sets the title of a terminal that interprets it. */
const HOSTILE = '\u001b[2Jmine\u001b]0;title\u0007';
const SHOWN = '^[[2Jmine^[]0;title^G';
const PRINT_HOSTILE = String.raw`printf '\033[2Jmine\033]0;title\007\n'`;

const PODS = `apiVersion: v1
kind: Pod
metadata: {name: probed}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: "${IMAGE}"
    command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
    livenessProbe: {exec: {command: [sh, -c, "echo the answer is 42; exit 3"]}, periodSeconds: 1, failureThreshold: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: job}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 2
  initContainers:
  - {name: side, image: "${IMAGE}", restartPolicy: Always, command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]}
  containers:
  - {name: main, image: "${IMAGE}", command: [sleep, "1"]}
---
apiVersion: v1
kind: Pod
metadata: {name: rejected}
spec:
  containers:
  - {name: main, image: "${IMAGE}", command: [sleep, "100"], resources: {requests: {cpu: "9999"}}}
---
apiVersion: v1
kind: Pod
metadata: {name: loud}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "${IMAGE}", command: [sh, -c, ${JSON.stringify(`${PRINT_HOSTILE}; trap 'exit 0' TERM; sleep 1000 & wait`)}]}
`;

/** The output on a terminal, which `script` of bsdutils provides. */
function onTerminal(args: readonly string[]): Promise<string> {
  const line = [BIN, ...args].map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`).join(' ');
  return new Promise((resolve) => {
    execFile('script', ['-qec', line, '/dev/null'], (_, stdout) => resolve(stdout.replaceAll(/\r+\n/g, '\n')));
  });
}

function hasFile(folder: string): boolean {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).some((entry) => !entry.isDirectory());
}

suite('what nodelet says', { skip: embeddedSkipReason(), timeout: 900_000 }, () => {
  const nodelet = new TestNodelet();
  after(() => nodelet.cleanUp());

  test('of probes, sidecars, rejected pods, missing programs and hostile output', async (t) => {
    const run = nodelet.run(nodelet.write('pods.yaml', PODS));
    const state = ['--state', nodelet.stateDir];
    await run.line(/loud\/main \| /);

    await t.test('a pod with a sidecar is done', async () => void (await run.line(/^job +● done in /m)));

    await t.test('exec and logs of a rejected pod report the rejection', async () => {
      for (const args of [
        ['exec', 'rejected', '--', 'true'],
        ['logs', 'rejected'],
      ]) {
        const { exitCode, stderr } = await nodelet.command(...args);
        assert.equal(exitCode, 1);
        assert.match(
          stderr,
          /pod "rejected-\S+" was rejected by this node: OutOfcpu: Node didn't have enough resource/,
        );
      }
    });

    await t.test('exec of a missing or non-executable program exits like a shell', async () => {
      const cases = [
        ['nosuch', 127, 'executable file not found in $PATH'],
        ['/no/such', 127, 'no such file or directory'],
        ['/etc/passwd', 126, 'permission denied'],
      ] as const;
      for (const [program, code, why] of cases) {
        const { exitCode, stderr } = await nodelet.command('exec', 'loud', '--', program);
        assert.deepEqual([exitCode, stderr], [code, `nodelet exec: cannot execute "${program}": ${why}\n`]);
      }
    });

    await t.test('logs and exec escape control sequences on a terminal, except for a requested tty', async () => {
      const exec = (...flags: string[]) => ['exec', ...state, ...flags, 'loud', '--', 'sh', '-c', PRINT_HOSTILE];
      assert.equal(await onTerminal(['logs', ...state, 'loud']), `${SHOWN}\n`);
      assert.equal(await onTerminal(exec()), `${SHOWN}\n`);
      assert.equal(await onTerminal(exec('-t')), `${HOSTILE}\n`);
      assert.equal((await nodelet.command('logs', 'loud')).stdout, `${HOSTILE}\n`);
      const piped = await nodelet.command('exec', 'loud', '--', 'sh', '-c', PRINT_HOSTILE);
      assert.equal(piped.stdout, `${HOSTILE}\n`);
    });

    await t.test('why shows the output of the probe', async () => {
      const answer = await until(async () => {
        const { stdout } = await nodelet.command('why', 'probed');
        return /ended .*killed because it failed its liveness probe: "the answer is 42"/.test(stdout)
          ? stdout
          : undefined;
      });
      assert.doesNotMatch(answer, /without an error/);
    });

    run.process.kill('SIGINT');
    assert.equal(await run.exited, 0, run.output());
    assert.doesNotMatch(run.output(), /^\{/m);
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('kubelet with an unknown flag exits with 2', async () => {
    const ended = await new Promise((resolve) => {
      execFile(BIN, ['kubelet', '--nosuch'], (error, _, stderr) => resolve([error?.code, stderr]));
    });
    assert.deepEqual(ended, [2, 'nodelet kubelet: error: unknown flag: --nosuch\n']);
  });

  test('Ctrl-C at the start leaves no directory', async () => {
    for (const delayMs of [0, 100, 300, 600]) {
      const fresh = new TestNodelet();
      const run = fresh.run(fresh.write('pods.yaml', PODS));
      await until(() => existsSync(fresh.stateDir) || undefined);
      await sleep(delayMs);
      run.process.kill('SIGINT');
      await run.exited;
      assert.deepEqual(fresh.remainingResources(), [], run.output());
      assert.equal(existsSync(fresh.stateDir), false, run.output());
      // Once an image exists, it stays for the next run.
      const isKept = existsSync(fresh.rootDir) && hasFile(fresh.rootDir);
      assert.equal(existsSync(fresh.rootDir), isKept, `a root folder with nothing in it:\n${run.output()}`);
      await fresh.cleanUp();
    }
  });
});
