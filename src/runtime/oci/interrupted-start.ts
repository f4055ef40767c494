import { posix } from 'node:path';
import type { ProcessIdentity } from '../../host/processes.ts';
import { bundleFiles } from './bundle-files.ts';
import { readIfExists, readPid } from './find-monitor.ts';
import type { OciDeps } from './oci-deps.ts';
import type { ContainerRef } from './oci-runtime.ts';

type SettleDeps = Pick<OciDeps, 'program' | 'crun' | 'stateRoot' | 'fs' | 'processes' | 'clock'>;

/** A runtime's commands take a tenth of a second; one that hangs is killed. */
const TIMEOUT_MS = 5_000;

export async function waitForInterruptedStart(
  container: ContainerRef,
  deps: SettleDeps,
  signal: AbortSignal,
): Promise<void> {
  const { processes, program, fs } = deps;
  const name = posix.basename(program);
  // A running `start` is waited for: its progress could not be determined afterwards. A `create` has not started the
  // program yet, and its copy, the container's first process, waits forever.
  const isStart = (args: readonly string[]): boolean =>
    args.includes('start') &&
    args.includes(container.id) &&
    args.slice(0, 2).some((arg) => posix.basename(arg) === name);
  await waitForCommands(await processes.find(({ args }) => isStart(args)), deps, signal);
  // With a PID file the monitor runs a container. A monitor without one has not created it yet.
  if ((await fs.stat(bundleFiles(container).pid)) !== undefined) return markStarted(container, deps);
  const monitors = await processes.find(({ args }) => args.includes(container.bundle));
  for (const monitor of monitors) await processes.killTree(monitor);
  await Promise.all(monitors.map((monitor) => processes.waitForExit(monitor, signal)));
}

/**
 * Handles a start that was interrupted after the byte that starts the program and before its FIFO was removed: crun
 * would still report the container as created. Until the program starts, the first process is a copy of `crun create`.
 */
async function markStarted(container: ContainerRef, deps: SettleDeps): Promise<void> {
  if (deps.crun === undefined) return;
  const pid = await readPid(bundleFiles(container).pid, deps);
  const args = (await readIfExists(`/proc/${pid}/cmdline`, deps)).split('\0');
  const isProgram = args.length > 1 && !args.includes(container.bundle);
  if (isProgram) await deps.fs.remove(`${deps.stateRoot}/${container.id}/exec.fifo`);
}

async function waitForCommands(
  commands: readonly ProcessIdentity[],
  { processes, clock }: SettleDeps,
  signal: AbortSignal,
): Promise<void> {
  if (commands.length === 0) return;
  const timeout = AbortSignal.any([signal, clock.deadline(TIMEOUT_MS)]);
  for (const command of commands) {
    try {
      await processes.waitForExit(command, timeout);
    } catch {
      signal.throwIfAborted();
      await processes.killTree(command);
      await processes.waitForExit(command, signal);
    }
  }
}
