import { byCodePoint } from '../../base/code-point-order.ts';
import type { ServerResponse } from '../../host/network.ts';
import { healthChannel } from './health-channel.ts';
import { errorLine, LINE_HEADERS, plainText } from './responses.ts';

/** A check returns its error, or `undefined`. */
export type HealthChecks = ReadonlyMap<string, () => string | undefined>;

/** Checks that kubelet does not have. They are listed only while they fail: the responses of a healthy node are kubelet's. */
const OWN_CHECKS: ReadonlySet<string> = new Set(['parts', 'unhandled-errors']);

/** `/healthz`, or `/healthz/NAME`. */
export function healthResponse(checks: HealthChecks, name: string | undefined, query: URLSearchParams): ServerResponse {
  const check = name === undefined ? undefined : checks.get(name);
  return check ? oneHealth(check) : allHealth(checks, query);
}

/** All checks, and whether all of them pass. */
function allHealth(checks: HealthChecks, query: URLSearchParams): ServerResponse {
  const excluded = new Set(query.getAll('exclude'));
  const lines: string[] = [];
  let isHealthy = true;
  for (const [name, check] of checks) {
    const isOk = check() === undefined;
    if (!excluded.has(name) && !OWN_CHECKS.has(name)) healthChannel.publish({ name, isHealthy: isOk });
    if (isOk && OWN_CHECKS.has(name)) continue;
    if (excluded.has(name)) lines.push(`[+]${name} excluded: ok`);
    else if (isOk) lines.push(`[+]${name} ok`);
    else {
      isHealthy = false;
      lines.push(`[-]${name} failed: reason withheld`); // only the path of the single check shows the reason
    }
  }
  const unknown = [...excluded].filter((name) => !checks.has(name)).toSorted(byCodePoint);
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (!isHealthy) return errorLine(500, `${lines.join('\n')}\nhealthz check failed`);
  const body = query.has('verbose') ? `${lines.join('\n')}\nhealthz check passed\n` : 'ok';
  return { status: 200, headers: LINE_HEADERS, body };
}

function oneHealth(check: () => string | undefined): ServerResponse {
  const error = check();
  return error === undefined ? plainText(200, 'ok') : errorLine(500, `internal server error: ${error}`);
}
