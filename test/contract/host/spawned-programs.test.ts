/** The contract of programs with streams, and of monitors. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import type { ProgramContext } from '../../../src/host/fake/memory-process.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { createLinuxProcesses } from '../../../src/host/linux/process/linux-processes.ts';
import type { Processes, StreamedCommand } from '../../../src/host/processes.ts';
import { temporaryFolder } from './temporary-folder.ts';

const never = new AbortController().signal;
const env = { PATH: '/usr/bin:/bin' };
const shell = (script: string, streams: StreamedCommand['streams'] = 'all'): StreamedCommand => ({
  program: '/bin/sh',
  args: ['-c', script],
  env,
  streams,
});

spawnContract('linux', async () => createLinuxProcesses(process.env));
spawnContract('memory', async () => {
  const { processes } = createMemoryHost();
  processes.install('/bin/sh', memoryShell);
  return processes;
});

/** The part of a shell that the scripts below need. */
async function memoryShell(context: ProgramContext): Promise<number> {
  for (const step of (context.args[1] ?? '').split('; ')) {
    if (step === 'cat') {
      for await (const chunk of context.stdin) context.stdout(new TextDecoder().decode(chunk));
    } else if (step === 'echo oops >&2') context.stderr('oops\n');
    else if (step === 'echo ready >&3') context.writeMonitorLine('ready');
    else if (step.startsWith('exit ')) return Number(step.slice('exit '.length));
    else if (step === 'exec sleep 1000') await once(context.ended, 'abort');
    else throw new Error(`no such step: ${step}`);
  }
  return 0;
}

async function all(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += new TextDecoder().decode(chunk);
  return text;
}

function spawnContract(name: string, makeProcesses: (t: TestContext) => Promise<Processes>): void {
  test(`${name} programs: input, both outputs and the exit code, also when read late`, async (t) => {
    const processes = await makeProcesses(t);
    const program = await processes.spawn(shell('cat; echo oops >&2; exit 3'));
    await program.write(new TextEncoder().encode('hello'));
    program.closeInput();
    assert.equal(await program.exited, 3);
    assert.deepEqual([await all(program.stdout), await all(program.stderr)], ['hello', 'oops\n']);
    await program.write(new TextEncoder().encode('unread'));
  });

  test(`${name} programs: a killed program ends with its outputs`, async (t) => {
    const processes = await makeProcesses(t);
    const program = await processes.spawn(shell('exec sleep 1000'));
    assert.deepEqual(await processes.identify(program.pid), { pid: program.pid, startTime: program.startTime });
    const outputs = Promise.all([all(program.stdout), all(program.stderr)]);
    await program.kill();
    assert.deepEqual([await program.exited, await outputs], [137, ['', '']]);
    await program.kill();
    await processes.killTree(program);
  });

  test(`${name} programs: a program without a terminal cannot be resized`, async (t) => {
    const processes = await makeProcesses(t);
    const program = await processes.spawn(shell('exec sleep 1000'));
    assert.equal(await processes.resizeTerminal(program, { width: 100, height: 40 }), false);
    await program.kill();
    await program.exited;
  });

  test(`${name} programs: signals can be given as numbers`, async (t) => {
    const processes = await makeProcesses(t);
    const program = await processes.spawn(shell('exec sleep 1000', 'outputOnly'));
    await processes.kill(program, 10);
    assert.equal(await program.exited, 138);
  });

  test(`${name} programs: a program that cannot start rejects`, async (t) => {
    const processes = await makeProcesses(t);
    const failure = { name: 'ProcessStartError', code: 'ENOENT', program: '/no/such/program' };
    const command = { program: '/no/such/program', args: [], env: {} };
    await assert.rejects(processes.spawn({ ...command, streams: 'all' }), failure);
    await assert.rejects(processes.startMonitor({ ...command, cwd: '/' }, never), failure);
  });

  test(`${name} programs: a monitor writes its line and continues`, async (t) => {
    const processes = await makeProcesses(t);
    const monitor = { ...shell('echo oops >&2; echo ready >&3; exit 0'), cwd: '/' };
    assert.equal((await processes.startMonitor(monitor, never)).line, 'ready');
  });

  test(`${name} programs: a monitor that ends without a line has its stderr in the result`, async (t) => {
    const processes = await makeProcesses(t);
    const monitor = { ...shell('echo oops >&2; exit 1'), cwd: '/' };
    assert.deepEqual(await processes.startMonitor(monitor, never), { line: '', stderr: 'oops\n' });
  });

  test(`${name} programs: a monitor that cannot be prepared is not started`, async (t) => {
    const processes = await makeProcesses(t);
    const pids: number[] = [];
    const whileWaiting = async (pid: number): Promise<void> => void pids.push(pid);
    const monitor = { ...shell('echo ready >&3; exit 0'), cwd: '/' };
    assert.equal((await processes.startMonitor({ ...monitor, whileWaiting }, never)).line, 'ready');
    assert.equal(pids.length, 1);
    const failing = {
      ...shell('exec sleep 1000'),
      cwd: '/',
      whileWaiting: () => Promise.reject(new Error('no scope')),
    };
    await assert.rejects(processes.startMonitor(failing, never), { message: 'no scope' });
  });

  test(`${name} programs: an abort ends the wait for a silent monitor`, async (t) => {
    const processes = await makeProcesses(t);
    const controller = new AbortController();
    const start = processes.startMonitor({ ...shell('exec sleep 1000'), cwd: '/' }, controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(start, { message: 'enough' });
  });
}

test('linux programs: a terminal echoes, has a size, and ends its input like Ctrl-D', async () => {
  const processes = createLinuxProcesses(process.env);
  const program = await processes.spawn(shell('read line; stty size; cat >/dev/null; exit 5', 'terminal'));
  await program.resize({ width: 100, height: 40 });
  await program.write(new TextEncoder().encode('go\n'));
  program.closeInput();
  const [output, errors, exitCode] = await Promise.all([all(program.stdout), all(program.stderr), program.exited]);
  assert.deepEqual([output.replaceAll('\r', '').replaceAll('^D\b\b', ''), errors, exitCode], ['go\n40 100\n', '', 5]);
});

test('linux programs: another process may resize a terminal, through any of its streams', async () => {
  const processes = createLinuxProcesses(process.env);
  for (const redirect of ['', '0</dev/null', '0</dev/null 1>/dev/null']) {
    const script = `exec ${redirect}; echo ready >&2; read x <&2; stty size <&2 >&2; exec sleep 1000 ${redirect}`;
    const program = await processes.spawn(shell(script, 'terminal'));
    let text = '';
    for await (const chunk of program.stdout) {
      text += new TextDecoder().decode(chunk);
      if (text === 'ready\r\n') {
        assert.equal(await processes.resizeTerminal(program, { width: 100, height: 40 }), true);
        await program.write(new TextEncoder().encode('\n'));
      }
      if (text.endsWith('40 100\r\n')) break;
    }
    await program.kill();
    await program.exited;
    assert.equal(await processes.resizeTerminal(program, { width: 100, height: 40 }), false);
  }
});

test('linux programs: a program that does not send its terminal has its stderr in the result', async (t) => {
  const processes = createLinuxProcesses(process.env);
  const terminalSocket = `${await temporaryFolder(t)}/door`;
  const command = { ...shell('echo oops >&2; exit 3', 'terminal'), terminalSocket };
  const program = await processes.spawn(command);
  await program.write(new TextEncoder().encode('x'));
  await program.resize({ width: 1, height: 1 });
  assert.deepEqual([await all(program.stdout), await all(program.stderr), await program.exited], ['', 'oops\n', 3]);
  const missing = processes.spawn({ ...command, program: '/no/such/program' });
  await assert.rejects(missing, { name: 'ProcessStartError', code: 'ENOENT' });
  await all((await processes.spawn({ ...command, terminalSocket: `${terminalSocket}2` })).stdout);
  assert.equal(await linuxFileSystem.stat(`${terminalSocket}2`), undefined);
});

test('linux programs: a program may run from a sealed copy', async () => {
  const processes = createLinuxProcesses(process.env);
  for (let round = 0; round < 2; round++) {
    const script = 'exec 3>>/proc/$$/exe; echo not reached';
    const program = await processes.spawn({ ...shell(script, 'outputOnly'), sealed: true });
    const [output, errors, exitCode] = await Promise.all([all(program.stdout), all(program.stderr), program.exited]);
    assert.deepEqual([output, exitCode], ['', 2]);
    assert.match(errors, /memfd|exe/);
  }
});

test('linux programs: an unread terminal does not block', async () => {
  const processes = createLinuxProcesses(process.env);
  const program = await processes.spawn(shell('stty raw; exec sleep 1000', 'terminal'));
  const write = program.write(new Uint8Array(1024 * 1024));
  await program.kill();
  assert.equal(await program.exited, 137);
  await write;
});

test('linux programs: input that a program does not read yet is not lost', async (t) => {
  const processes = createLinuxProcesses(process.env);
  const gate = `${await temporaryFolder(t)}/gate`;
  const script = `mkfifo ${gate}; stty raw -echo; echo ready; read go <${gate}; exec cat`;
  const program = await processes.spawn(shell(script, 'terminal'));
  const lines = Array.from({ length: 170_000 }, (_, index) => `${index}\n`).join('');
  const typed = new TextEncoder().encode(lines);
  const pieces = Array.from({ length: 11 }, (_, at) => typed.subarray(at * 100_000, (at + 1) * 100_000));
  let text = '';
  let writes: Promise<unknown> | undefined;
  for await (const chunk of program.stdout) {
    text += new TextDecoder().decode(chunk);
    if (text === 'ready\n') {
      writes = Promise.all(pieces.map((piece) => program.write(piece)));
      await linuxFileSystem.appendFile(gate, 'go\n');
    }
    if (text.length >= 'ready\n'.length + lines.length) break;
  }
  await writes;
  assert.ok(text === `ready\n${lines}`);
  await program.kill();
});

test('linux programs: a tree is killed with the process groups of all its processes', async (t) => {
  const processes = createLinuxProcesses(process.env);
  const root = await temporaryFolder(t);
  const inner = `sleep 1000 & echo $! >${root}/grandchild; touch ${root}/ready; wait`;
  const program = await processes.spawn(shell(`setsid sh -c '${inner}' & wait`, 'outputOnly'));
  for await (const _ of linuxFileSystem.watch(root, never)) if (await linuxFileSystem.stat(`${root}/ready`)) break;
  const grandchild = await processes.identify(Number(await linuxFileSystem.readText(`${root}/grandchild`)));
  assert.ok(grandchild);
  await processes.killTree(program);
  await processes.waitForExit(grandchild, never);
  assert.equal(await program.exited, 137);
});

test('linux programs: the outputs can be opened as /dev/stdout and /dev/stderr', async () => {
  const processes = createLinuxProcesses(process.env);
  const program = await processes.spawn(shell('echo out > /dev/stdout; echo err > /dev/stderr', 'outputOnly'));
  assert.deepEqual([await all(program.stdout), await all(program.stderr)], ['out\n', 'err\n']);
  assert.equal(await program.exited, 0);
});

test('linux programs: a monitor gets its byte only when it was prepared', async () => {
  const processes = createLinuxProcesses(process.env);
  const events: string[] = [];
  const whileWaiting = async (pid: number): Promise<void> => {
    await delay(100);
    events.push((await processes.identify(pid)) === undefined ? 'it has ended' : 'prepared');
  };
  const monitor = { ...shell('read -r line <&4; echo started >&3'), cwd: '/', whileWaiting };
  events.push((await processes.startMonitor(monitor, never)).line);
  assert.deepEqual(events, ['prepared', 'started']);
});
