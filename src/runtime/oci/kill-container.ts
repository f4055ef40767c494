import { exitFileOf } from './container-end.ts';
import { findFirstProcess, findMonitor } from './find-monitor.ts';
import { type OciDeps, runRuntime } from './oci-deps.ts';
import { type MonitoredName, OciError } from './oci-runtime.ts';
import { faultOf } from './runtime-words.ts';

const KILL_MS = 10_000;
/** How crun and runc say that it has ended, or that there is none. */
const IS_GONE = /does not exist|not running|no such (?:process|file)|ESRCH|already finished|stopped/i;

/** By a system call where it is sure whom it reaches; else the runtime does it, which knows more. */
export async function killContainer(
  container: MonitoredName,
  signalNumber: number,
  all: boolean,
  deps: OciDeps,
): Promise<void> {
  if (!all) {
    const [exit, monitor] = await Promise.all([
      deps.fs.stat(exitFileOf(container, deps)),
      findMonitor(container, deps),
    ]);
    if (exit !== undefined) return;
    const first = monitor && (await findFirstProcess(container, monitor, deps));
    if (first) return deps.processes.kill(first, signalNumber);
  }
  const args = ['kill', ...(all ? ['--all'] : []), container.id, String(signalNumber)];
  const finished = await runRuntime(deps, args, deps.clock.deadline(KILL_MS));
  const fault = faultOf(finished);
  if (finished.exitCode !== 0 && !IS_GONE.test(fault)) throw new OciError(fault);
}
