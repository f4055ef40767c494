import type { Probe } from '../../api/generated/core-v1.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import { checkExec } from './check-exec.ts';
import { checkGrpc } from './check-grpc.ts';
import { checkHttp } from './check-http.ts';
import { checkTcp } from './check-tcp.ts';
import type { CheckDeps, CheckOutcome, ProbeHandler, ProbeTarget } from './probe-handler.ts';
import { startTimeLimit, type TimeLimit } from './time-limit.ts';

/** The registry of probe handlers, in the order of their precedence: a new one is a file and a line here. */
const HANDLERS = [
  handler('exec', checkExec),
  handler('httpGet', checkHttp),
  handler('tcpSocket', checkTcp),
  handler('grpc', checkGrpc),
] as const;

type BoundHandler = (target: ProbeTarget, deps: CheckDeps, limit: TimeLimit) => Promise<CheckOutcome>;

/** Returns the handler of probes that have this field. */
function handler<Field extends keyof Probe>(
  field: Field,
  check: ProbeHandler<NonNullable<Probe[Field]>>,
): (probe: Probe) => BoundHandler | undefined {
  return (probe) => {
    const action = probe[field];
    return action ? (target, deps, limit) => check(action, target, deps, limit) : undefined;
  };
}

/**
 * Checks a container once, within the time limit of its probe. Rejects only with the signal's reason, once that has
 * aborted.
 */
export async function checkProbe(
  probe: Probe,
  target: ProbeTarget,
  timeoutMs: number,
  deps: CheckDeps,
  signal: AbortSignal,
): Promise<CheckOutcome> {
  const check: BoundHandler | undefined = HANDLERS.map((find) => find(probe)).find((found) => found !== undefined);
  if (check === undefined) return unknownResult('missing probe handler');
  const limit = startTimeLimit(timeoutMs, deps.clock, signal);
  try {
    const outcome: Promise<CheckOutcome> = check(target, deps, limit);
    return await outcome;
  } catch (error) {
    signal.throwIfAborted();
    return unknownResult(goErrorText(error));
  } finally {
    limit.end();
  }
}

function unknownResult(output: string): CheckOutcome {
  return { kind: 'error', state: 'unknown', output };
}
