import { abortable } from '../../../base/abortable.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Processes } from '../../../host/processes.ts';
import { CausedError } from '../../pod/pod-cause.ts';
import { type ProgramResult, runProgram } from './run-program.ts';

const RESPONSE_MS = 10_000;
const STALE = 'Stale file handle';

/**
 * Rejects if the server of a mount does not answer in time, or has forgotten the mount. Asked by a process, which can be
 * killed while it waits; statfs(2) is not answered from a cache.
 */
export async function checkServerResponse(
  { source, target }: { readonly source: string; readonly target: string },
  { processes, clock }: { readonly processes: Processes; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const deadline = clock.deadline(RESPONSE_MS);
  const either = AbortSignal.any([signal, deadline]);
  const cause = { kind: 'serverNotResponding', source } as const;
  let result: ProgramResult;
  try {
    result = await abortable(runProgram(processes, 'stat', ['-f', '-c', '%T', target], either), either);
  } catch (error) {
    signal.throwIfAborted();
    if (!deadline.aborted) throw error;
    throw new CausedError(`server of ${source} does not respond`, cause, { cause: error });
  }
  // Other errors, such as a server that does not trust root, are those of the container.
  if (result.exitCode !== 0 && result.output.includes(STALE)) {
    throw new CausedError(`mount of ${source} is stale: ${result.output.trim()}`, cause);
  }
}
