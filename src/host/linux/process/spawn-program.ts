import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { ProcessStartError } from '../../processes.ts';
import { errnoCode } from '../sys/errno-code.ts';

/** A program that may still fail to start: then its `error` event tells why. */
export function spawnProgram(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(program, args, options);
  } catch (error) {
    throw asProcessStartError(program, error); // some failures are thrown at once: E2BIG, ENOMEM
  }
}

/** Why a program did not start, in the port's shape. */
export function asProcessStartError(program: string, error: unknown): ProcessStartError {
  return new ProcessStartError(errnoCode(error) ?? 'EIO', program, { cause: error });
}
