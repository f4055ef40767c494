import type { KubeletFlags } from '../../app/config/kubelet-flags.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { LockFiles } from '../../host/lock-files.ts';
import { CommandError } from '../options/command-error.ts';

export interface LockFileDeps {
  readonly lockFiles: LockFiles;
  readonly log: Log;
  /** Another process has opened the file, and `--exit-on-lock-contention` is set. */
  onContention(): void;
}

/**
 * Locks the file of `--lock-file` until disposal, as kubelet does: waits while another process has the lock. Rejects with a
 * `CommandError`, or with the signal's reason.
 */
export async function holdLockFile(
  { lockFile, exitOnLockContention }: Pick<KubeletFlags, 'exitOnLockContention' | 'lockFile'>,
  { lockFiles, log, onContention }: LockFileDeps,
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  if (lockFile === undefined) return { [Symbol.asyncDispose]: async () => {} };
  log.info('acquiring file lock', { path: lockFile });
  const locked = await lockFiles.acquire(lockFile, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    const message = `unable to acquire file lock on ${JSON.stringify(lockFile)}: ${errorText(error)}`;
    throw new CommandError(message, undefined, { cause: error });
  });
  const done = new AbortController();
  if (exitOnLockContention) {
    log.info('watching for inotify events', { path: lockFile });
    void locked.untilContended(done.signal).then(
      () => {
        log.info('another process has opened the lock file', { path: lockFile });
        onContention();
      },
      (error: unknown) => {
        if (done.signal.aborted) return;
        log.error('cannot watch the lock file', { path: lockFile, error });
        onContention(); // as kubelet: it ends when the watch fails
      },
    );
  }
  return {
    async [Symbol.asyncDispose]() {
      done.abort();
      await locked[Symbol.asyncDispose]();
    },
  };
}
