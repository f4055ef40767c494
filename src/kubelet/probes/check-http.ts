import type { HTTPGetAction } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { httpGet } from './http-get.ts';
import type { CheckOutcome, ProbeHandler } from './probe-handler.ts';
import { probeUrl } from './probe-url.ts';

/** Sends an HTTP request; the status of the response decides. Rejects with the signal's reason. */
export const checkHttp: ProbeHandler<HTTPGetAction> = async (action, { container, podIP }, { network }, limit) => {
  const url = probeUrl(action, container, podIP);
  const outcome = await httpGet({ url, purpose: 'probe', headers: action.httpHeaders ?? [] }, network, limit);
  switch (outcome.kind) {
    case 'answered':
      return statusOutcome(outcome.status, outcome.body);
    case 'unanswered':
      return { kind: 'failure', output: outcome.text };
    case 'brokenOff':
      return { kind: 'error', state: 'failure', output: outcome.text };
    default:
      return assertNever(outcome);
  }
};

function statusOutcome(status: number, body: string): CheckOutcome {
  if (status >= 200 && status < 300) return { kind: 'success', output: body };
  if (status >= 300 && status < 400) {
    return { kind: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  }
  return { kind: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
}
