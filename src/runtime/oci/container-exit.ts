import { bundleFiles } from './bundle-files.ts';
import { readIfExists } from './find-monitor.ts';
import type { OciDeps } from './oci-deps.ts';
import type { ContainerExit, ContainerRef } from './oci-runtime.ts';

type EndDeps = Pick<OciDeps, 'exits' | 'fifos' | 'fs'>;

/** Waits for the monitor's exit and reads its files. */
export async function waitForContainer(
  container: ContainerRef,
  deps: EndDeps,
  signal: AbortSignal,
): Promise<ContainerExit> {
  const files = bundleFiles(container);
  await deps.fifos.untilWritersClose(files.alive, signal);
  const exitFile = exitFilePath(container, deps);
  const [text, exit, oom] = await Promise.all([
    readIfExists(exitFile, deps),
    deps.fs.stat(exitFile),
    deps.fs.stat(files.oom),
  ]);
  const exitCode = Number.parseInt(text, 10);
  if (exit === undefined || Number.isNaN(exitCode)) return { kind: 'monitorLost' };
  return { kind: 'exited', exitCode, finishedAtMs: exit.modifiedMs, oomKilled: oom !== undefined };
}

export function exitFilePath({ id }: ContainerRef, { exits }: Pick<OciDeps, 'exits'>): string {
  return `${exits}/${id}`;
}
