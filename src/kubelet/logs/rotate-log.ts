import { basename, dirname } from 'node:path';
import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { logsInUse, rotatedLogs } from './log-file-names.ts';
import { planRotation } from './rotation-plan.ts';

/** The log of a running or exited container. */
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
 * Rotates the log of a running container. No line is lost on errors or crashes; the next rotation continues. Unlike in
 * kubelet, the new log is started first: this needs no space, so that logs stay bounded on a full disk, where
 * compression fails. Old logs are removed only after the new one is started.
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
  if (!(await fs.renameUnlessTaken(path, rotated))) throw new Error(`cannot rotate ${path}: ${rotated} already exists`);
  try {
    await runtime.reopenContainerLog({ containerId: id }, signal);
  } catch (error) {
    // Fails if the runtime opened a new log and only its answer was lost.
    await fs.renameUnlessTaken(rotated, path);
    throw error;
  }
}

/** The compressed log gets its name when it is complete; the plain log is removed after that. */
async function compressLog(path: string, fs: FileSystem, signal: AbortSignal): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    await fs.compressFile(path, temporary, signal);
    await fs.rename(temporary, `${path}.gz`);
  } catch (error) {
    await fs.remove(temporary).catch(() => undefined); // the next rotation removes it
    throw error;
  }
  await fs.remove(path);
}

/**
 * Restores a missing log after an interrupted rotation. A running container gets a new log; the last rotated log of an
 * exited container is renamed back.
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
