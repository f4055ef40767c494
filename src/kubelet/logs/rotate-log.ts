import { basename, dirname } from 'node:path';
import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { logsInUse, rotatedLogs } from './log-file-names.ts';
import { planRotation } from './rotation-plan.ts';

/** The log of a container that runs or has run. */
export interface ContainerLog {
  readonly id: string;
  readonly path: string;
}

export interface RotateLogDeps {
  readonly fs: FileSystem;
  readonly runtime: Pick<RuntimeService, 'reopenContainerLog'>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Gives a running container a new log. Whatever fails or wherever the process ends, no line is lost, and the next
 * rotation goes on from there. The new log comes before the rest, other than in kubelet: it needs no space, so that logs
 * stay bounded on a full disk too, where nothing can be compressed; and no old log goes for one that is not begun.
 */
export async function rotateLog(
  { id, path }: ContainerLog,
  maxFiles: number,
  deps: RotateLogDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, clock } = deps;
  const folder = dirname(path);
  const plan = planRotation(basename(path), await namesIn(folder, fs), maxFiles, clock.now());
  for (const name of plan.leftovers) await fs.remove(`${folder}/${name}`);
  await startNewLog({ id, path }, `${folder}/${plan.rotateTo}`, deps, signal);
  for (const name of plan.excess) await fs.remove(`${folder}/${name}`);
  for (const name of plan.compress) await compressLog(`${folder}/${name}`, fs, signal);
}

async function startNewLog(
  { id, path }: ContainerLog,
  rotated: string,
  { fs, runtime }: RotateLogDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!(await fs.renameUnlessTaken(path, rotated)))
    throw new Error(`cannot rotate ${path}: ${rotated} is there already`);
  try {
    await runtime.reopenContainerLog({ containerId: id }, signal);
  } catch (error) {
    // Unless the runtime opened a new log all the same, and only its answer was lost; or does so in this moment.
    await fs.renameUnlessTaken(rotated, path);
    throw error;
  }
}

/** The compressed log gets its name when it is whole; until then the log itself stays. */
async function compressLog(path: string, fs: FileSystem, signal: AbortSignal): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    await fs.compressFile(path, temporary, signal);
    await fs.rename(temporary, `${path}.gz`);
  } catch (error) {
    await fs.remove(temporary).catch(() => undefined); // the next rotation takes it away
    throw error;
  }
  await fs.remove(path);
}

/**
 * For a log that is missing: the process may have ended in the middle of a rotation. A running container goes on in a new
 * log; the last log of one that has ended gets its name back.
 */
export async function restoreLog(
  { id, path }: ContainerLog,
  isRunning: boolean,
  { fs, runtime }: RotateLogDeps,
  signal: AbortSignal,
): Promise<void> {
  if (isRunning) {
    await runtime.reopenContainerLog({ containerId: id }, signal);
    return;
  }
  const folder = dirname(path);
  if ((await fs.stat(folder)) === undefined) return;
  const last = logsInUse(rotatedLogs(basename(path), await namesIn(folder, fs))).at(-1);
  if (last?.form === 'plain') await fs.renameUnlessTaken(`${folder}/${last.name}`, path);
}

async function namesIn(folder: string, fs: FileSystem): Promise<string[]> {
  return (await fs.readDirectory(folder)).map(({ name }) => name);
}
