import { bundleFiles } from './bundle-files.ts';
import { textUnlessGone } from './find-monitor.ts';
import type { OciDeps } from './oci-deps.ts';
import type { ContainerEnd, MonitoredName } from './oci-runtime.ts';

type EndDeps = Pick<OciDeps, 'exits' | 'fifos' | 'fs'>;

/** Waits for the monitor's end, and reads what it left. */
export async function containerEnd(
  container: MonitoredName,
  deps: EndDeps,
  signal: AbortSignal,
): Promise<ContainerEnd> {
  const files = bundleFiles(container);
  await deps.fifos.untilEnd(files.alive, signal);
  const exitFile = exitFileOf(container, deps);
  const [text, exit, oom] = await Promise.all([
    textUnlessGone(exitFile, deps),
    deps.fs.stat(exitFile),
    deps.fs.stat(files.oom),
  ]);
  const exitCode = Number.parseInt(text, 10);
  if (exit === undefined || Number.isNaN(exitCode)) return { kind: 'monitorLost' };
  return { kind: 'exited', exitCode, finishedAtMs: exit.modifiedMs, oomKilled: oom !== undefined };
}

export function exitFileOf({ id }: MonitoredName, { exits }: Pick<OciDeps, 'exits'>): string {
  return `${exits}/${id}`;
}
