import { FileSystemError } from '../../host/file-system.ts';
import { identifyParent, pidIn, textUnlessGone } from './find-monitor.ts';
import type { OciDeps } from './oci-deps.ts';
import type { MonitoredName } from './oci-runtime.ts';

type EndDeps = Pick<OciDeps, 'fs' | 'processes'>;

/** As `startExec` names them. */
const OF_EXEC = /^exec-.+\.(?:json|pid|sock)$/;

/** Ends what execs of an earlier life left: nobody takes their output any more, and nobody ends them when their time is over. */
export async function endExecs({ bundle }: MonitoredName, deps: EndDeps): Promise<void> {
  const names = await namesIn(bundle, deps);
  await Promise.all(
    names.map(async (name) => {
      const path = `${bundle}/${name}`;
      if (name.endsWith('.pid')) await endExec(path, deps);
      await deps.fs.remove(path);
    }),
  );
}

/** The process's number alone is not believed: another may have it by now. Its parent was told where to write it. */
async function endExec(pidFile: string, deps: EndDeps): Promise<void> {
  const pid = await pidIn(pidFile, deps);
  const runtime = pid === undefined ? undefined : await identifyParent(pid, deps);
  if (runtime === undefined) return;
  const args = (await textUnlessGone(`/proc/${runtime.pid}/cmdline`, deps)).split('\0');
  if (args.includes(pidFile)) await deps.processes.killTree(runtime);
}

async function namesIn(bundle: string, { fs }: EndDeps): Promise<readonly string[]> {
  try {
    return (await fs.readDirectory(bundle)).map(({ name }) => name).filter((name) => OF_EXEC.test(name));
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return [];
    throw error;
  }
}
