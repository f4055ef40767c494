import { errorText } from '../../../base/error-text.ts';
import type { Processes } from '../../../host/processes.ts';
import { CausedError, podCauseOf } from '../../pod/pod-cause.ts';
import { mountByProgram, type ProgramMount } from './mount-program.ts';
import { exitText, ProgramError, type ProgramResult, runProgram } from './run-program.ts';

/** blkid(8): the device has nothing that it knows. */
const NOTHING_FOUND = 2;
/** fsck(8): errors were left. */
const ERRORS_LEFT = 4;
const PARTITIONED = 'unknown data, probably partitions';
const DEFAULT_TYPE = 'ext4';

/**
 * A program that changes a device is never killed half-way, neither by a deadline nor when the pod is deleted. A retry waits
 * for it.
 */
const UNINTERRUPTED = new AbortController().signal;

interface FormatDeps {
  readonly processes: Processes;
}

/**
 * Mounts the file system of a block device, and formats the device before if it is empty. A device with any known data, also
 * with partitions or of another file system, is not formatted. kubelet's `SafeFormatAndMount`.
 */
export async function formatAndMount(
  { source, target, type, options }: ProgramMount,
  deps: FormatDeps,
  signal: AbortSignal,
): Promise<void> {
  const isReadOnly = options.includes('ro');
  const wanted = type || DEFAULT_TYPE;
  const all = [...options, 'defaults'];
  const found = await diskFormat(source, deps, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw caused(`failed to get disk format of disk ${source}: ${errorText(cause)}`, cause);
  });
  if (found === '' && isReadOnly) {
    throw caused(`cannot mount unformatted disk ${source} as we are manipulating it in read-only mode`);
  }
  if (found === '') await format(wanted, { source, target, options: all }, deps);
  else if (!isReadOnly) await checkAndRepair(source, deps);
  try {
    await mountByProgram({ source, target, type: wanted, options: all }, deps, UNINTERRUPTED);
  } catch (error) {
    const isOther = found !== '' && found !== wanted;
    throw isOther ? new FilesystemMismatchError(errorText(error), podCauseOf(error), { cause: error }) : error;
  }
}

/** The mount failed, and the device has a file system of another type, which may be why. */
class FilesystemMismatchError extends CausedError {
  override readonly name = 'FilesystemMismatchError';
}

/** Whether this is, or was caused by, such an error. */
export function isFilesystemMismatch(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof FilesystemMismatchError || isFilesystemMismatch(error.cause);
}

/** The type of the file system; empty for a device without any data that blkid(8) knows. */
async function diskFormat(source: string, { processes }: FormatDeps, signal: AbortSignal): Promise<string> {
  const args = ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', source];
  const result = await runProgram(processes, 'blkid', args, signal);
  if (result.exitCode === NOTHING_FOUND) return '';
  if (result.exitCode !== 0) throw new Error(exitText(result));
  return parseBlkid(result.output);
}

export function parseBlkid(output: string): string {
  const lines = output.split('\n').filter((line) => line !== '');
  const values = lines.map((line) => {
    const [name, value, ...more] = line.split('=');
    if (value === undefined || more.length > 0) throw new Error(`blkid returns invalid output: ${output}`);
    return [name, value] as const;
  });
  const find = (wanted: string): string => values.findLast(([name]) => name === wanted)?.[1] ?? '';
  return find('PTTYPE') === '' ? find('TYPE') : PARTITIONED;
}

async function format(
  type: string,
  { source, target, options }: Omit<ProgramMount, 'type'>,
  { processes }: FormatDeps,
): Promise<void> {
  const failed = (error: string, output: string): string =>
    `format of disk "${source}" failed: type:("${type}") target:("${target}") options:("${options.join(',')}") errcode:(${error}) output:(${output}) `;
  let result: ProgramResult;
  try {
    result = await runProgram(processes, `mkfs.${type}`, [...formatArgs(type), source], UNINTERRUPTED);
  } catch (cause) {
    throw caused(failed(errorText(cause), ''), cause);
  }
  if (result.exitCode !== 0) throw caused(failed(exitText(result), result.output));
}

/** Without questions; all of an ext file system may be used by the pod. */
function formatArgs(type: string): readonly string[] {
  if (type === 'ext4' || type === 'ext3') return ['-F', '-m0'];
  return type === 'xfs' ? ['-f'] : [];
}

/** Only errors that could not be corrected prevent the mount. */
async function checkAndRepair(source: string, { processes }: FormatDeps): Promise<void> {
  const result = await runProgram(processes, 'fsck', ['-a', source], UNINTERRUPTED).catch((error: unknown) => {
    if (error instanceof ProgramError) return undefined; // mounted unchecked, as in kubelet
    throw error;
  });
  if (result?.exitCode !== ERRORS_LEFT) return;
  throw caused(`'fsck' found errors on device ${source} but could not correct them: ${result.output}`);
}

function caused(message: string, cause?: unknown): CausedError {
  return new CausedError(message, podCauseOf(cause), { cause });
}
