import type { HTTPGetAction } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import type { NetworkClient } from '../../host/network.ts';
import type { CheckOutcome, ProbeTarget } from './probe-handler.ts';
import { httpGet } from './http-get.ts';
import { probeUrl } from './probe-url.ts';
import type { TimeLimit } from './time-limit.ts';

/** One HTTP check. Rejects with the signal's reason when it is not wanted any more. */
export async function checkHttp(
  action: HTTPGetAction,
  { container, podIP }: ProbeTarget,
  network: NetworkClient,
  limit: TimeLimit,
): Promise<CheckOutcome> {
  const url = probeUrl(action, container, podIP);
  const outcome = await httpGet({ url, purpose: 'probe', headers: action.httpHeaders ?? [] }, network, limit);
  switch (outcome.kind) {
    case 'answered':
      return verdictOn(outcome.status, outcome.body);
    case 'unanswered':
      return { kind: 'failure', output: outcome.text };
    case 'brokenOff':
      return { kind: 'error', state: 'failure', output: outcome.text };
    default:
      return assertNever(outcome);
  }
}

function verdictOn(status: number, body: string): CheckOutcome {
  if (status >= 200 && status < 300) return { kind: 'success', output: body };
  if (status >= 300 && status < 400) {
    return { kind: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  }
  return { kind: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
}
