import type { HTTPGetAction } from '../../api/generated/core-v1.ts';
import { textOf } from '../../base/text-of.ts';
import type { HttpResponse, Network } from '../../host/network.ts';
import { type CheckOutcome, MAX_OUTPUT_BYTES, type ProbeTarget } from './check-outcome.ts';
import { dialFailureText, hostPort } from './failure-text.ts';
import { probeHeaders } from './http-headers.ts';
import { type ProbeUrl, urlOfAction, urlOfRedirect } from './probe-url.ts';
import type { TimeLimit } from './time-limit.ts';

const MAX_REQUESTS = 10;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

type Answer = { readonly response: HttpResponse; readonly body: string };

/**
 * One HTTP check. Redirects to the same host are followed, all within the one time limit. Certificates are not looked
 * at. Rejects with the signal's reason when it is not wanted any more.
 */
export async function checkHttp(
  action: HTTPGetAction,
  target: ProbeTarget,
  network: Network,
  limit: TimeLimit,
): Promise<CheckOutcome> {
  const first = urlOfAction(action, target.container, target.podIP);
  let url = first;
  for (let count = 1; ; count++) {
    const answer = await answerOf(url, action, network, limit);
    if ('kind' in answer) return answer;
    const location = redirectOf(answer.response);
    const next = location === undefined ? undefined : urlOfRedirect(location, url);
    if (next === undefined || next.host !== first.host) return verdictOn(answer);
    if (count === MAX_REQUESTS) return failedGet(location ?? next.text, 'stopped after 10 redirects');
    url = next;
  }
}

/** The answer, or what the check has come to without one. */
async function answerOf(
  url: ProbeUrl,
  action: HTTPGetAction,
  network: Network,
  limit: TimeLimit,
): Promise<Answer | CheckOutcome> {
  const response = await responseOf(url, action, network, limit);
  if ('kind' in response) return response;
  try {
    return { response, body: await firstOf(response.body) };
  } catch (error) {
    if (!limit.isPassed()) limit.signal.throwIfAborted();
    const timeout = 'context deadline exceeded (Client.Timeout or context cancellation while reading body)';
    return { kind: 'error', state: 'failure', output: limit.isPassed() ? timeout : textOf(error) };
  }
}

async function responseOf(
  url: ProbeUrl,
  action: HTTPGetAction,
  network: Network,
  limit: TimeLimit,
): Promise<HttpResponse | CheckOutcome> {
  const { scheme, host, port, path } = url;
  const headers = probeHeaders(action.httpHeaders ?? [], url.authority);
  try {
    const [address] = await network.lookup(host, limit.signal);
    const target = { host: address, port };
    return await network.request(
      { target, scheme, insecureSkipVerify: true, method: 'GET', path, headers },
      limit.signal,
    );
  } catch (error) {
    if (!limit.isPassed()) limit.signal.throwIfAborted();
    const timeout = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
    return failedGet(url.text, limit.isPassed() ? timeout : dialFailureText(error, hostPort(host, port)));
  }
}

function verdictOn({ response: { status }, body }: Answer): CheckOutcome {
  if (status >= 200 && status < 300) return { kind: 'success', output: body };
  if (status >= 300 && status < 400) {
    return { kind: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  }
  return { kind: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
}

function redirectOf({ status, headers }: HttpResponse): string | undefined {
  return REDIRECTS.includes(status) ? headers['location'] : undefined;
}

function failedGet(url: string, text: string): CheckOutcome {
  return { kind: 'failure', output: `Get ${JSON.stringify(url)}: ${text}` };
}

/** Stops to read where enough is known: the connection ends with that. */
async function firstOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= MAX_OUTPUT_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, MAX_OUTPUT_BYTES);
}
