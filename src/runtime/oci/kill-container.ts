import { exitFilePath } from './container-exit.ts';
import { findFirstProcess, findMonitor } from './find-monitor.ts';
import { type OciDeps, runRuntime } from './oci-deps.ts';
import { type ContainerRef, OciError } from './oci-runtime.ts';
import { failureText } from './runtime-output.ts';

const KILL_TIMEOUT_MS = 10_000;
/** Messages of crun and runc for a container that exited or does not exist. */
const IS_GONE = /does not exist|not running|no such (?:process|file)|ESRCH|already finished|stopped/i;

/** Uses a system call if the process is identified for certain, else the runtime, which knows more. */
export async function killContainer(
  container: ContainerRef,
  signalNumber: number,
  all: boolean,
  deps: OciDeps,
): Promise<void> {
  if (!all) {
    const [exit, monitor] = await Promise.all([
      deps.fs.stat(exitFilePath(container, deps)),
      findMonitor(container, deps),
    ]);
    if (exit !== undefined) return;
    const first = monitor && (await findFirstProcess(container, monitor, deps));
    if (first) return deps.processes.kill(first, signalNumber);
  }
  const args = ['kill', ...(all ? ['--all'] : []), container.id, String(signalNumber)];
  const finished = await runRuntime(deps, args, deps.clock.deadline(KILL_TIMEOUT_MS));
  const failure = failureText(finished);
  if (finished.exitCode !== 0 && !IS_GONE.test(failure)) throw new OciError(failure);
}
