import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { ProcessStartError } from '../../processes.ts';
import { errnoCode } from '../sys/errno-code.ts';

/** The program may still fail to start: its `error` event then has the reason. */
export function spawnProgram(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(program, args, options);
  } catch (error) {
    throw asProcessStartError(program, error); // some errors are thrown at once: E2BIG, ENOMEM
  }
}

export function asProcessStartError(program: string, error: unknown): ProcessStartError {
  return new ProcessStartError(errnoCode(error) ?? 'EIO', program, { cause: error });
}
