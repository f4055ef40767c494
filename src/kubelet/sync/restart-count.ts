import type { Pod } from '../../api/generated/core-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { newestContainer, type ObservedPod } from '../pod/observed-pod.ts';
import { podLogDirectory } from '../pod/pod-paths.ts';

/**
 * The restart count of the container's next instance. When the runtime does not list the container (a reboot), it is
 * derived from the log file names, so that old logs are not overwritten.
 */
export async function nextRestartCount(
  pod: Pod,
  name: string,
  observed: ObservedPod | undefined,
  podLogsDir: string,
  fs: FileSystem,
): Promise<number> {
  const newest = newestContainer(observed, name);
  if (newest) return newest.restartCount + 1;
  const folder = `${podLogDirectory(podLogsDir, pod)}/${name}`;
  if (!(await fs.stat(folder))) return 0;
  const entries = await fs.readDirectory(folder);
  const counts = entries.flatMap((entry) => {
    const match = /^(\d+)\.log/.exec(entry.name);
    return match ? [Number(match[1])] : [];
  });
  return counts.reduce((next, count) => Math.max(next, count + 1), 0);
}
