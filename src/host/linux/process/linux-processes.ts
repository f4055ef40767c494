import type { ChildProcess } from 'node:child_process';
import { closeSync, readFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import {
  type Daemon,
  type DaemonHandle,
  type Processes,
  type ProcessIdentity,
  type ProcessSignal,
  ProcessStartError,
  type TerminalSize,
} from '../../processes.ts';
import { parseProcStat } from '../proc/proc-stat.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { findProcesses } from './find-processes.ts';
import { killTree, sendSignal } from './kill-tree.ts';
import { type Environment, exitCodeOf, runCommand, type WithEnvironment } from './run-command.ts';
import { asProcessStartError, spawnProgram } from './spawn-program.ts';
import { spawnStreamed } from './spawn-streamed.ts';
import { startMonitor } from './start-monitor.ts';

/** The machine's processes. `inherited` is the environment of programs that are given none. */
export function createLinuxProcesses(inherited: Environment): Processes {
  const children = new Map<number, OwnChild>();

  async function startDaemon(daemon: Daemon): Promise<DaemonHandle> {
    const own = await spawnDaemon({ ...daemon, env: daemon.env ?? inherited });
    const { pid, exited } = own.handle;
    children.set(pid, own);
    void exited.then(() => children.delete(pid));
    return own.handle;
  }

  async function waitForExit(process: ProcessIdentity, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const own = children.get(process.pid);
    if (own?.handle.startTime === process.startTime) return waitForChild(own, signal);
    await waitForOtherProcess(process, signal);
  }

  return {
    run: (command, signal) => runCommand({ ...command, env: command.env ?? inherited }, signal),
    startDaemon,
    identify,
    limitOpenFiles: async (count) => {
      const { limitOpenFiles } = await import('../sys/process-calls.ts');
      limitOpenFiles(count);
    },
    find: findProcesses,
    waitForExit,
    kill,
    killTree,
    resizeTerminal,
    spawn: spawnStreamed,
    startMonitor,
  };
}

interface OwnChild {
  readonly handle: DaemonHandle;
  readonly child: ChildProcess;
  /** The number of pending `waitForExit` calls: only these keep the agent's process alive. */
  waiting: number;
}

async function spawnDaemon({ program, args, env, logFile }: WithEnvironment<Daemon>): Promise<OwnChild> {
  await using log = await open(logFile, 'a', 0o640).catch((error: unknown) => {
    throw asProcessStartError(program, error);
  });
  const child = spawnProgram(program, args, {
    env,
    cwd: '/',
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  const { promise: exited, resolve } = Promise.withResolvers<{ exitCode: number }>();
  child.once('exit', (code, killedBy) => resolve({ exitCode: exitCodeOf(code, killedBy) }));
  // Synchronously: /proc has a dead child until the event loop collects it.
  const startTime = child.pid === undefined ? undefined : startTimeOf(child.pid);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.on('error', (error) => reject(asProcessStartError(program, error)));
  });
  if (child.pid === undefined || startTime === undefined) throw new ProcessStartError('ESRCH', program);
  child.unref();
  return { handle: { pid: child.pid, startTime, exited }, child, waiting: 0 };
}

function startTimeOf(pid: number): number | undefined {
  return parseProcStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.startTime;
}

async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const stat = parseProcStat(await readStat(pid));
  if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return undefined;
  return { pid, startTime: stat.startTime };
}

async function readStat(pid: number): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    const code = errnoCode(error);
    // ESRCH: it ended between open(2) and read(2).
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}

async function isAlive(process: ProcessIdentity): Promise<boolean> {
  return (await identify(process.pid))?.startTime === process.startTime;
}

async function kill(target: ProcessIdentity, signal: ProcessSignal | number): Promise<void> {
  if (await isAlive(target)) sendSignal(target.pid, signal);
}

async function resizeTerminal(process: ProcessIdentity, size: TerminalSize): Promise<boolean> {
  const { resizeTerminalOf } = await import('../terminal/pseudo-terminal.ts');
  return (await isAlive(process)) && resizeTerminalOf(process.pid, size);
}

/** Waits for a process that is not a child of the agent. */
async function waitForOtherProcess(process: ProcessIdentity, signal: AbortSignal): Promise<void> {
  const [{ openPidfd }, { untilReady }] = await Promise.all([
    import('../sys/event-calls.ts'),
    import('../sys/descriptor-stream.ts'),
  ]);
  const fd = openPidfd(process.pid);
  if (fd === undefined) return;
  // Only now: while the pidfd is open, the pid belongs to this process.
  const isSame = await isAlive(process).catch(() => true);
  if (isSame) return untilReady(fd, signal);
  closeSync(fd);
}

function waitForChild(own: OwnChild, signal: AbortSignal): Promise<void> {
  own.child.ref();
  own.waiting++;
  return new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      own.waiting--;
      if (own.waiting === 0) own.child.unref();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    void own.handle.exited.then(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
  });
}
