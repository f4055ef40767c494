import { type FileStat, FileSystemError } from '../../host/file-system.ts';
import { bundleFiles } from './bundle-files.ts';
import { findMonitor } from './find-monitor.ts';
import { monitorLogPath } from './monitor-args.ts';
import type { OciDeps } from './oci-deps.ts';
import { type ContainerRef, OciError } from './oci-runtime.ts';

/** conmon's command to reopen the log; the numbers belong to another command of the same format. */
const REOPEN = '2 0 0\n';

/**
 * The monitor creates a new file and renames it to the log's name: the inode changes when it is done. That would
 * overwrite a log that was not rotated: then the monitor is not asked, because it already writes to the right file.
 */
export async function reopenLog(container: ContainerRef, deps: OciDeps, signal: AbortSignal): Promise<void> {
  const gone = (): OciError => new OciError(`container ${container.id} has no monitor`);
  const monitor = await findMonitor(container, deps);
  if (monitor === undefined) throw gone();
  const path = monitorLogPath(monitor.args);
  if (path === undefined) return;

  const log = await deps.fs.stat(path);
  if (log !== undefined && (await hasOpen(monitor.pid, log, deps))) return;
  const before = log?.inode;
  const over = new AbortController();
  const end = AbortSignal.any([signal, over.signal]);
  // A monitor that exits meanwhile creates no file: the caller gets an error.
  const ended = deps.fifos.untilWritersClose(bundleFiles(container).alive, end).then(
    () => over.abort(gone()),
    () => {},
  );
  try {
    let isAsked = false;
    for await (const _ of deps.fs.watch(path.slice(0, path.lastIndexOf('/')), end)) {
      if (!isAsked && !(await deps.fifos.write(bundleFiles(container).control, REOPEN))) throw gone();
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
    if (error instanceof FileSystemError && ['ENOENT', 'ESRCH'].includes(error.code)) return []; // it has just exited
    throw error;
  });
  for (const { name } of names) {
    const open = await fs.stat(`${folder}/${name}`);
    if (open?.device === device && open.inode === inode) return true;
  }
  return false;
}
