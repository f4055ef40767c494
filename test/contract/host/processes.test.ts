/** The contract of processes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import type { ProgramContext } from '../../../src/host/fake/memory-process.ts';
import type { FileSystem } from '../../../src/host/file-system.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { createLinuxProcesses } from '../../../src/host/linux/process/linux-processes.ts';
import type { Command, Processes, ProcessStart } from '../../../src/host/processes.ts';
import { temporaryFolder } from './temporary-folder.ts';

interface ProcessesWorld {
  readonly processes: Processes;
  readonly fs: FileSystem;
  readonly root: string;
}

const never = new AbortController().signal;
const shell = (script: string): Command => ({ program: '/bin/sh', args: ['-c', script] });

processesContract('linux', async (t) => ({
  processes: createLinuxProcesses(process.env),
  fs: linuxFileSystem,
  root: await temporaryFolder(t),
}));
processesContract('memory', async () => {
  const { processes, fs } = createMemoryHost();
  await fs.makeDirectory('/data');
  processes.install('/bin/sh', memoryShell);
  return { processes, fs, root: '/data' };
});

/** The part of a shell that the scripts below need. */
async function memoryShell(context: ProgramContext): Promise<number> {
  for (const step of (context.args[1] ?? '').split('; ')) {
    const [word, ...rest] = step.split(' ');
    if (word === 'cat') context.stdout(new TextDecoder().decode(context.input));
    else if (step === 'echo oops >&2') context.stderr('oops\n');
    else if (step === 'echo "$GREETING $PWD"') context.stdout(`${context.env['GREETING']} ${context.cwd}\n`);
    else if (word === 'echo') context.stdout(`${rest.join(' ')}\n`);
    else if (word === 'exit') return Number(rest[0]);
    else if (word === 'mkfifo') continue;
    else if (word === 'read' || step === 'exec sleep 1000') await once(context.ended, 'abort');
    else throw new Error(`no such step: ${step}`);
  }
  return 0;
}

function processesContract(name: string, makeWorld: (t: TestContext) => Promise<ProcessesWorld>): void {
  test(`${name} processes: a program reads its input, and its output and exit code are returned`, async (t) => {
    const { processes } = await makeWorld(t);
    const finished = await processes.run({ ...shell('cat; echo oops >&2; exit 3'), input: 'hello' }, never);
    const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
    assert.deepEqual([finished.exitCode, text(finished.stdout), text(finished.stderr)], [3, 'hello', 'oops\n']);
  });

  test(`${name} processes: a process is found by its arguments and its environment`, async (t) => {
    const { processes, fs, root } = await makeWorld(t);
    const mark = `mark-${process.pid}-${name}`;
    const env = { MARK: mark, PATH: '/usr/bin:/bin' };
    // After `ready` it does not exec again: /proc shows no arguments during execve(2).
    const script = `mkfifo ${root}/1000; echo ready; read x <${root}/1000`;
    const daemon = { program: '/bin/sh', args: ['-c', script], env, logFile: `${root}/log` };
    const { pid, startTime, exited } = await processes.startDaemon(daemon);
    while ((await fs.readText(`${root}/log`)) !== 'ready\n') await turn();
    const isMarked = (start: ProcessStart): boolean => start.env.includes(`MARK=${mark}`);
    assert.deepEqual(await processes.find(isMarked), [{ pid, startTime }]);
    const hasArgument = ({ args }: ProcessStart): boolean => args.some((arg) => arg.includes('1000'));
    assert.deepEqual(await processes.find((start) => isMarked(start) && hasArgument(start)), [{ pid, startTime }]);
    assert.deepEqual(await processes.find((start) => isMarked(start) && !hasArgument(start)), []);
    await processes.kill({ pid, startTime }, 'SIGKILL');
    await exited;
    assert.deepEqual(await processes.find(isMarked), []);
  });

  test(`${name} processes: a program may ignore its input`, async (t) => {
    const { processes } = await makeWorld(t);
    const { exitCode } = await processes.run({ ...shell('exit 0'), input: new Uint8Array(1024 * 1024) }, never);
    assert.equal(exitCode, 0);
  });

  test(`${name} processes: the environment and the working folder are the given ones`, async (t) => {
    const { processes } = await makeWorld(t);
    const command = { ...shell('echo "$GREETING $PWD"'), env: { GREETING: 'hi' }, cwd: '/' };
    const { stdout } = await processes.run(command, never);
    assert.equal(new TextDecoder().decode(stdout), 'hi /\n');
  });

  test(`${name} processes: a program that cannot start rejects`, async (t) => {
    const { processes, root } = await makeWorld(t);
    const failure = { name: 'ProcessStartError', code: 'ENOENT', program: '/no/such/program' };
    await assert.rejects(processes.run({ program: '/no/such/program', args: [] }, never), failure);
    const daemon = { program: '/no/such/program', args: [], logFile: `${root}/log` };
    await assert.rejects(processes.startDaemon(daemon), failure);
  });

  test(`${name} processes: an aborted run is killed and rejects with the reason`, async (t) => {
    const { processes } = await makeWorld(t);
    const controller = new AbortController();
    const run = processes.run(shell('exec sleep 1000'), controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(run, { message: 'enough' });
    await assert.rejects(processes.run(shell('exit 0'), controller.signal), { message: 'enough' });
  });

  test(`${name} processes: a program with too much output is killed`, async (t) => {
    const { processes } = await makeWorld(t);
    for (const script of ['cat; exec sleep 1000', 'cat; cat; exec sleep 1000']) {
      const command = { ...shell(script), input: 'hello', maxOutputBytes: 4 };
      await assert.rejects(processes.run(command, never), {
        name: 'ProcessOutputError',
        message: '/bin/sh wrote more than 4 bytes',
      });
    }
    const { stdout } = await processes.run({ ...shell('cat'), input: 'hello', maxOutputBytes: 5 }, never);
    assert.equal(stdout.byteLength, 5);
  });

  test(`${name} processes: a daemon appends to its log, and its exit code is reported`, async (t) => {
    const { processes, fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/log`, 'earlier\n');
    const daemon = await processes.startDaemon({ ...shell('echo now; exit 4'), logFile: `${root}/log` });
    assert.deepEqual(await daemon.exited, { exitCode: 4 });
    assert.equal(await fs.readText(`${root}/log`), 'earlier\nnow\n');
    await processes.waitForExit(daemon, never);
    assert.equal(await processes.identify(daemon.pid), undefined);
  });

  test(`${name} processes: a daemon is identified by pid and start time until it is killed`, async (t) => {
    const { processes, root } = await makeWorld(t);
    const daemon = await processes.startDaemon({ ...shell('exec sleep 1000'), logFile: `${root}/log` });
    const { pid, startTime } = daemon;
    assert.deepEqual(await processes.identify(pid), { pid, startTime });

    // Another process with the same pid is not affected.
    await processes.kill({ pid, startTime: startTime + 1 }, 'SIGKILL');
    await processes.waitForExit({ pid, startTime: startTime + 1 }, never);
    assert.deepEqual(await processes.identify(pid), { pid, startTime });

    const exit = processes.waitForExit({ pid, startTime }, never);
    await processes.kill({ pid, startTime }, 'SIGTERM');
    await exit;
    assert.deepEqual(await daemon.exited, { exitCode: 143 });
    assert.equal(await processes.identify(pid), undefined);
    await processes.kill({ pid, startTime }, 'SIGTERM');
  });

  test(`${name} processes: waiting for an exit ends with the signal's reason`, async (t) => {
    const { processes, root } = await makeWorld(t);
    const daemon = await processes.startDaemon({ ...shell('exec sleep 1000'), logFile: `${root}/log` });
    const controller = new AbortController();
    const exit = processes.waitForExit(daemon, controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(exit, { message: 'enough' });
    await processes.kill(daemon, 'SIGKILL');
    await processes.waitForExit(daemon, never);
  });

  test(`${name} processes: an unused pid has no process`, async (t) => {
    const { processes } = await makeWorld(t);
    assert.equal(await processes.identify(2 ** 22 + 1), undefined);
  });
}

test('linux processes: waits for a process that is not a child', async () => {
  const processes = createLinuxProcesses(process.env);
  const child = spawn('/bin/sleep', ['1000']);
  await once(child, 'spawn');
  const identity = await processes.identify(child.pid ?? 0);
  assert.ok(identity);
  const exit = processes.waitForExit(identity, never);
  await processes.kill(identity, 'SIGTERM');
  await exit;
  assert.equal(await processes.identify(identity.pid), undefined);
});

test('linux processes: arguments that are too long reject with a ProcessStartError', async () => {
  const processes = createLinuxProcesses(process.env);
  const run = processes.run({ program: '/bin/true', args: ['x'.repeat(4 * 1024 * 1024)] }, never);
  await assert.rejects(run, { name: 'ProcessStartError', code: 'E2BIG' });
});

test('linux processes: an aborted run kills the descendants too', async (t) => {
  const processes = createLinuxProcesses(process.env);
  const root = await temporaryFolder(t);
  const controller = new AbortController();
  const run = processes.run(
    shell(`sleep 1000 & echo $! > ${root}/pid; touch ${root}/started; wait`),
    controller.signal,
  );
  for await (const _ of linuxFileSystem.watch(root, never)) if (await linuxFileSystem.stat(`${root}/started`)) break;
  const grandchild = await processes.identify(Number(await linuxFileSystem.readText(`${root}/pid`)));
  assert.ok(grandchild);
  controller.abort(new Error('enough'));
  await assert.rejects(run, { message: 'enough' });
  await processes.waitForExit(grandchild, never);
});

test('linux processes: a daemon has its own session and no terminal', async (t) => {
  const processes = createLinuxProcesses(process.env);
  const logFile = `${await temporaryFolder(t)}/log`;
  const daemon = await processes.startDaemon({ ...shell('exec sleep 1000'), logFile });
  const stat = await linuxFileSystem.readText(`/proc/${daemon.pid}/stat`);
  const [, , group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  await processes.kill(daemon, 'SIGKILL');
  await processes.waitForExit(daemon, never);
  assert.deepEqual([Number(group), Number(session)], [daemon.pid, daemon.pid]);
});

test('linux processes: the limit of open files is soft and hard, and the kernel has the last word', async () => {
  const processes = createLinuxProcesses(process.env);
  const limits = async (): Promise<readonly string[]> => {
    const text = await linuxFileSystem.readText('/proc/self/limits');
    return /^Max open files +(\d+) +(\d+)/m.exec(text)?.slice(1) ?? [];
  };
  const [, hard = ''] = await limits();
  const lower = Number(hard) - 1;
  await processes.limitOpenFiles(lower);
  assert.deepEqual(await limits(), [String(lower), String(lower)]);
  await assert.rejects(processes.limitOpenFiles(2 ** 40), { code: 'EPERM' });
});
