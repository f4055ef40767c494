import { posix } from 'node:path';
import type { ProcessIdentity } from '../../host/processes.ts';
import { bundleFiles } from './bundle-files.ts';
import { pidIn, textUnlessGone } from './find-monitor.ts';
import type { OciDeps } from './oci-deps.ts';
import type { MonitoredName } from './oci-runtime.ts';

type SettleDeps = Pick<OciDeps, 'program' | 'crun' | 'stateRoot' | 'fs' | 'processes' | 'clock'>;

/** Commands of a runtime take a tenth of a second; one that hangs is killed. */
const PATIENCE_MS = 5_000;

export async function settleStart(container: MonitoredName, deps: SettleDeps, signal: AbortSignal): Promise<void> {
  const { processes, program, fs } = deps;
  const name = posix.basename(program);
  // Let to end: nobody could say afterwards how far it has come. A `create` has let no program go, and its copy, the
  // container's first process, waits for ever.
  const isStart = (args: readonly string[]): boolean =>
    args.includes('start') &&
    args.includes(container.id) &&
    args.slice(0, 2).some((arg) => posix.basename(arg) === name);
  await untilEnded(await processes.find(({ args }) => isStart(args)), deps, signal);
  // The number of the first process: a monitor that has it runs a container. One that has not is still to begin.
  if ((await fs.stat(bundleFiles(container).pid)) !== undefined) return noteThatItRuns(container, deps);
  const monitors = await processes.find(({ args }) => args.includes(container.bundle));
  for (const monitor of monitors) await processes.killTree(monitor);
  await Promise.all(monitors.map((monitor) => processes.waitForExit(monitor, signal)));
}

/**
 * A start of ours that was cut off after the byte that lets the program go, and before its FIFO was removed: crun would
 * still call it created. Its first process is a copy of `crun create` until then.
 */
async function noteThatItRuns(container: MonitoredName, deps: SettleDeps): Promise<void> {
  if (deps.crun === undefined) return;
  const pid = await pidIn(bundleFiles(container).pid, deps);
  const args = (await textUnlessGone(`/proc/${pid}/cmdline`, deps)).split('\0');
  const isProgram = args.length > 1 && !args.includes(container.bundle);
  if (isProgram) await deps.fs.remove(`${deps.stateRoot}/${container.id}/exec.fifo`);
}

async function untilEnded(
  commands: readonly ProcessIdentity[],
  { processes, clock }: SettleDeps,
  signal: AbortSignal,
): Promise<void> {
  if (commands.length === 0) return;
  const patience = AbortSignal.any([signal, clock.deadline(PATIENCE_MS)]);
  for (const command of commands) {
    try {
      await processes.waitForExit(command, patience);
    } catch {
      signal.throwIfAborted();
      await processes.killTree(command);
    }
  }
}
