import { errorText } from '../../../base/error-text.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Mounts } from '../../../host/mounts.ts';
import type { Processes } from '../../../host/processes.ts';
import { CausedError, podCauseOf } from '../../pod/pod-cause.ts';
import { exitText, type ProgramResult, runProgram } from './run-program.ts';

/** kubelet's deadline of an unmount; then it is forced. */
const UNMOUNT_MS = 60_000;
/** Of a forced unmount, after which the mount is only detached. */
const FORCED_UNMOUNT_MS = 30_000;
const NOT_MOUNTED = 'not mounted';

export interface ProgramMount {
  readonly source: string;
  readonly target: string;
  /** Absent for bind mounts. */
  readonly type?: string;
  readonly options: readonly string[];
}

interface Programs {
  readonly processes: Processes;
}

/**
 * Mounts by mount(8), which knows the options and the helpers (`mount.nfs`) of all file systems. Rejects with kubelet's
 * message, which has the output of the program.
 */
export async function mountByProgram(
  { source, target, type, options }: ProgramMount,
  { processes }: Programs,
  signal: AbortSignal,
): Promise<void> {
  const optionArgs = options.length > 0 ? ['-o', options.join(',')] : [];
  const args = [...(type === undefined ? [] : ['-t', type]), ...optionArgs, source, target];
  // kubelet's text has no type, but its separator.
  const shown = `${type === undefined ? ' ' : ''}${args.join(' ')}`;
  const failed = (error: string, output: string): string =>
    `mount failed: ${error}\nMounting command: mount\nMounting arguments: ${shown}\nOutput: ${output}`;
  let result: ProgramResult;
  try {
    result = await runProgram(processes, 'mount', args, signal);
  } catch (cause) {
    signal.throwIfAborted();
    throw new CausedError(failed(errorText(cause), ''), podCauseOf(cause), { cause });
  }
  if (result.exitCode === 0) return;
  const helper = type !== undefined && isHelperMissing(result.output) ? `mount.${type}` : undefined;
  const podCause = helper === undefined ? undefined : ({ kind: 'programMissing', program: helper } as const);
  throw new CausedError(failed(exitText(result), result.output), podCause);
}

/** mount(8) of util-linux says so for a type whose helper is not installed. */
function isHelperMissing(output: string): boolean {
  return output.includes('you might need a /sbin/mount.');
}

export interface UnmountDeps extends Programs {
  readonly mounts: Mounts;
  readonly clock: Clock;
}

/**
 * Unmounts a file system whose server may be dead: by processes, because the system call may never return, then by force,
 * and at last by detaching it. A target that is not mounted is not an error.
 */
export async function unmountForcibly(
  target: string,
  { processes, mounts, clock }: UnmountDeps,
  signal: AbortSignal,
): Promise<void> {
  const deadline = clock.deadline(UNMOUNT_MS);
  try {
    return await runUnmount(processes, [target], AbortSignal.any([signal, deadline]));
  } catch (error) {
    signal.throwIfAborted();
    if (!deadline.aborted) throw error;
  }
  const lastDeadline = clock.deadline(FORCED_UNMOUNT_MS);
  try {
    await runUnmount(processes, ['-f', target], AbortSignal.any([signal, lastDeadline]));
  } catch {
    signal.throwIfAborted();
    await mounts.unmount(target, { lazy: true });
  }
}

async function runUnmount(processes: Processes, args: readonly string[], signal: AbortSignal): Promise<void> {
  const result = await runProgram(processes, 'umount', args, signal);
  if (result.exitCode === 0 || result.output.includes(NOT_MOUNTED)) return;
  const message = `unmount failed: ${exitText(result)}\nUnmounting arguments: ${args.at(-1)}\nOutput: ${result.output}`;
  throw new CausedError(message, undefined);
}
