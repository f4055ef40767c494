import { attachContainer } from './attach-container.ts';
import { containerEnd } from './container-end.ts';
import { endExecs } from './end-execs.ts';
import { execStreams } from './exec-streams.ts';
import { execSync } from './exec-sync.ts';
import { killContainer } from './kill-container.ts';
import type { OciDeps } from './oci-deps.ts';
import type { OciRuntime } from './oci-runtime.ts';
import { removeContainer } from './remove-container.ts';
import { reopenLog } from './reopen-log.ts';
import { settleStart } from './settle-start.ts';
import { startContainer } from './start-container.ts';
import { updateContainer } from './update-container.ts';

/** crun or runc below conmon. It keeps nothing in memory: all of it can be found again by id and bundle. */
export function createOciRuntime(deps: OciDeps): OciRuntime {
  let folders: Promise<unknown> | undefined;
  const ensureFolders = (): Promise<unknown> => {
    const paths = [deps.exits, deps.sockets, deps.stateRoot];
    folders ??= Promise.all(paths.map((path) => deps.fs.makeDirectory(path, 0o700))).catch((error: unknown) => {
      folders = undefined;
      throw error;
    });
    return folders;
  };
  // Names of an earlier life may still be there, so the time is part of them.
  const life = deps.clock.now();
  let files = 0;
  const nextName = (): string => `${life}-${++files}`;

  return {
    program: deps.program,
    start: async (container, signal) => {
      await ensureFolders();
      return startContainer(container, deps, signal);
    },
    ended: (container, signal) => containerEnd(container, deps, signal),
    kill: (container, signalNumber, { all = false } = {}) => killContainer(container, signalNumber, all, deps),
    remove: (container, signal) => removeContainer(container, deps, signal),
    update: (container, resources, signal) => updateContainer(container, resources, nextName(), deps, signal),
    execSync: (container, exec, signal) => execSync(container, exec, nextName(), deps, signal),
    exec: (container, process, signal) => execStreams(container, process, nextName(), deps, signal),
    attach: (container, signal) => attachContainer(container, deps, signal),
    settleStart: (container, signal) => settleStart(container, deps, signal),
    endExecs: (container) => endExecs(container, deps),
    reopenLog: (container, signal) => reopenLog(container, deps, signal),
  };
}
