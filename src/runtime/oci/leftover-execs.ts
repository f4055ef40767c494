import { FileSystemError } from '../../host/file-system.ts';
import { identifyParent, readIfExists, readPid } from './find-monitor.ts';
import type { OciDeps } from './oci-deps.ts';
import type { ContainerRef } from './oci-runtime.ts';

type EndDeps = Pick<OciDeps, 'fs' | 'processes'>;

/** Names given by `startExec`. */
const EXEC_FILE = /^exec-.+\.(?:json|pid|sock)$/;

/** Kills execs of a previous process: their output is not read and their time-out is not enforced any more. */
export async function killLeftoverExecs({ bundle }: ContainerRef, deps: EndDeps): Promise<void> {
  const names = await execFiles(bundle, deps);
  await Promise.all(
    names.map(async (name) => {
      const path = `${bundle}/${name}`;
      if (name.endsWith('.pid')) await killExec(path, deps);
      await deps.fs.remove(path);
    }),
  );
}

/** The PID alone is not trusted: it may have been reused. The parent's arguments contain the path of the PID file. */
async function killExec(pidFile: string, deps: EndDeps): Promise<void> {
  const pid = await readPid(pidFile, deps);
  const runtime = pid === undefined ? undefined : await identifyParent(pid, deps);
  if (runtime === undefined) return;
  const args = (await readIfExists(`/proc/${runtime.pid}/cmdline`, deps)).split('\0');
  if (args.includes(pidFile)) await deps.processes.killTree(runtime);
}

async function execFiles(bundle: string, { fs }: EndDeps): Promise<readonly string[]> {
  try {
    return (await fs.readDirectory(bundle)).map(({ name }) => name).filter((name) => EXEC_FILE.test(name));
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return [];
    throw error;
  }
}
