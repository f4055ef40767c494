import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import type { ConnectedProcess, ConnectedProgram, ConnectedPrograms } from '../../connected-programs.ts';
import { ProcessStartError } from '../../processes.ts';
import { exitCodeOf } from '../process/run-command.ts';
import { asProcessStartError, spawnProgram } from '../process/spawn-program.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { byteStreamOf } from './byte-stream.ts';

export const linuxConnectedPrograms: ConnectedPrograms = { start };

async function start({ program, args, env }: ConnectedProgram): Promise<ConnectedProcess> {
  const child = spawnProgram(program, args, {
    env,
    cwd: '/',
    detached: true, // a new session and process group, which can be killed as a whole
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'], // Node's pipes are pairs of connected Unix sockets
  });
  const { promise: exited, resolve } = Promise.withResolvers<{ exitCode: number }>();
  child.once('exit', (code, killedBy) => resolve({ exitCode: exitCodeOf(code, killedBy) }));
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.on('error', (error) => reject(asProcessStartError(program, error)));
  });
  const socket = child.stdio[3];
  if (!(socket instanceof Socket)) throw new ProcessStartError('EBADF', program);
  return { stream: byteStreamOf(socket), exited, kill: () => killGroup(child) };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const hasEnded = child.exitCode !== null || child.signalCode !== null;
  // The kernel does not reuse a pid while a process group has it: a process with this pid means that the group is gone.
  if (hasEnded && existsSync(`/proc/${child.pid}`)) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if (errnoCode(error) !== 'ESRCH') throw error;
  }
}
