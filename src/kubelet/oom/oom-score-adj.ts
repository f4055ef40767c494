import type { Log } from '../../base/log.ts';
import type { FileSystem } from '../../host/file-system.ts';

/** Sets how early the kernel kills this process, and those that it starts from now on, when memory runs out. */
export async function setOwnOomScoreAdj(
  score: number,
  { fs, log }: { readonly fs: Pick<FileSystem, 'writeFile'>; readonly log: Log },
): Promise<void> {
  try {
    await fs.writeFile('/proc/self/oom_score_adj', String(score));
  } catch (error) {
    // A lower score needs the capability CAP_SYS_RESOURCE.
    log.warn('cannot set oom_score_adj of the agent', { score, error });
  }
}
