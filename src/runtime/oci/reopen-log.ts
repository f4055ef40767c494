import { type FileStat, FileSystemError } from '../../host/file-system.ts';
import { bundleFiles } from './bundle-files.ts';
import { findMonitor } from './find-monitor.ts';
import { logPathOf } from './monitor-args.ts';
import type { OciDeps } from './oci-deps.ts';
import { type MonitoredName, OciError } from './oci-runtime.ts';

/** conmon's order for it; the numbers are of another order, which shares the line's form. */
const REOPEN = '2 0 0\n';

/**
 * The monitor makes a new file and renames it to the log's name, so the change of the inode tells when it has. A log that
 * nobody has moved away would be lost by that: the monitor is not asked then, as it writes to the right file already.
 */
export async function reopenLog(container: MonitoredName, deps: OciDeps, signal: AbortSignal): Promise<void> {
  const gone = (): OciError => new OciError(`container ${container.id} has no monitor any more`);
  const monitor = await findMonitor(container, deps);
  if (monitor === undefined) throw gone();
  const path = logPathOf(monitor.args);
  if (path === undefined) return;

  const log = await deps.fs.stat(path);
  if (log !== undefined && (await hasOpen(monitor.pid, log, deps))) return;
  const before = log?.inode;
  const over = new AbortController();
  const end = AbortSignal.any([signal, over.signal]);
  // A monitor that ends meanwhile makes no file: whoever waits is told.
  const ended = deps.fifos.untilEnd(bundleFiles(container).alive, end).then(
    () => over.abort(gone()),
    () => {},
  );
  try {
    let isAsked = false;
    for await (const _ of deps.fs.watch(path.slice(0, path.lastIndexOf('/')), end)) {
      if (!isAsked && !(await deps.fifos.write(bundleFiles(container).orders, REOPEN))) throw gone();
      isAsked = true;
      const now = (await deps.fs.stat(path))?.inode;
      if (now !== undefined && now !== before) return;
    }
    end.throwIfAborted();
  } finally {
    over.abort();
    await ended;
  }
}

async function hasOpen(pid: number, { device, inode }: FileStat, { fs }: OciDeps): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const names = await fs.readDirectory(folder).catch((error: unknown) => {
    if (error instanceof FileSystemError && ['ENOENT', 'ESRCH'].includes(error.code)) return []; // it has just ended
    throw error;
  });
  for (const { name } of names) {
    const open = await fs.stat(`${folder}/${name}`);
    if (open?.device === device && open.inode === inode) return true;
  }
  return false;
}
