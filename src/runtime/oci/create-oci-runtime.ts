import { attachContainer } from './attach-container.ts';
import { waitForContainer } from './container-exit.ts';
import { execStreams } from './exec-streams.ts';
import { execSync } from './exec-sync.ts';
import { waitForInterruptedStart } from './interrupted-start.ts';
import { killContainer } from './kill-container.ts';
import { killLeftoverExecs } from './leftover-execs.ts';
import type { OciDeps } from './oci-deps.ts';
import { runRuntime } from './oci-deps.ts';
import type { OciRuntime } from './oci-runtime.ts';
import { type ContainerRef, OciError } from './oci-runtime.ts';
import type { OciResources } from './oci-spec.ts';
import { removeContainer } from './remove-container.ts';
import { reopenLog } from './reopen-log.ts';
import { failureText } from './runtime-output.ts';
import { startContainer } from './start-container.ts';

/** crun or runc with conmon. Stateless: everything is found again by ID and bundle. */
export function createOciRuntime(deps: OciDeps): OciRuntime {
  let directories: Promise<unknown> | undefined;
  const ensureDirectories = (): Promise<unknown> => {
    const paths = [deps.exits, deps.sockets, deps.stateRoot];
    directories ??= Promise.all(paths.map((path) => deps.fs.makeDirectory(path, 0o700))).catch((error: unknown) => {
      directories = undefined;
      throw error;
    });
    return directories;
  };
  // Files of previous processes may still exist, so the names include the start time.
  const startedAtMs = deps.clock.now();
  let files = 0;
  const nextName = (): string => `${startedAtMs}-${++files}`;

  return {
    program: deps.program,
    stateRoot: deps.stateRoot,
    start: async (container, signal) => {
      await ensureDirectories();
      return startContainer(container, deps, signal);
    },
    wait: (container, signal) => waitForContainer(container, deps, signal),
    kill: (container, signalNumber, { all = false } = {}) => killContainer(container, signalNumber, all, deps),
    remove: (container, signal) => removeContainer(container, deps, signal),
    update: (container, resources, signal) => updateContainer(container, resources, nextName(), deps, signal),
    execSync: (container, exec, signal) => execSync(container, exec, nextName(), deps, signal),
    exec: (container, process, signal) => execStreams(container, process, nextName(), deps, signal),
    attach: (container, signal) => attachContainer(container, deps, signal),
    waitForInterruptedStart: (container, signal) => waitForInterruptedStart(container, deps, signal),
    killLeftoverExecs: (container) => killLeftoverExecs(container, deps),
    reopenLog: (container, signal) => reopenLog(container, deps, signal),
  };
}

/** Does not touch device rules: a change of limits must not change device access. */
async function updateContainer(
  { id, bundle }: ContainerRef,
  { devices: _, ...limits }: OciResources,
  name: string,
  deps: OciDeps,
  signal: AbortSignal,
): Promise<void> {
  // Passed as a file: crun opens its standard input by name, which fails for a pipe of Node.js (a socket).
  const file = `${bundle}/update-${name}.json`;
  try {
    await deps.fs.writeFile(file, JSON.stringify(limits));
    const finished = await runRuntime(deps, ['update', '--resources', file, id], signal);
    if (finished.exitCode !== 0) throw new OciError(failureText(finished));
  } finally {
    await deps.fs.remove(file);
  }
}
