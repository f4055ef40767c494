import { byCodePoint } from '../../base/code-point-order.ts';
import type { ServerResponse } from '../../host/network.ts';
import { LINE_HEADERS, plainLine, plainText } from './answers.ts';

/** A check says what is wrong, or nothing. */
export type HealthChecks = ReadonlyMap<string, () => string | undefined>;

/** `/healthz`, or `/healthz/NAME`. */
export function health(checks: HealthChecks, name: string | undefined, query: URLSearchParams): ServerResponse {
  const fault = name === undefined ? undefined : checks.get(name);
  return fault ? oneHealth(fault) : allHealth(checks, query);
}

/** Each check, and whether all are well. */
function allHealth(checks: HealthChecks, query: URLSearchParams): ServerResponse {
  const excluded = new Set(query.getAll('exclude'));
  const lines: string[] = [];
  let isHealthy = true;
  for (const [name, fault] of checks) {
    if (excluded.has(name)) lines.push(`[+]${name} excluded: ok`);
    else if (fault() === undefined) lines.push(`[+]${name} ok`);
    else {
      isHealthy = false;
      lines.push(`[-]${name} failed: reason withheld`); // who may see this need not see more
    }
  }
  const unknown = [...excluded].filter((name) => !checks.has(name)).toSorted(byCodePoint);
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (!isHealthy) return plainLine(500, `${lines.join('\n')}\nhealthz check failed`);
  const body = query.has('verbose') ? `${lines.join('\n')}\nhealthz check passed\n` : 'ok';
  return { status: 200, headers: LINE_HEADERS, body };
}

function oneHealth(fault: () => string | undefined): ServerResponse {
  const why = fault();
  return why === undefined ? plainText(200, 'ok') : plainLine(500, `internal server error: ${why}`);
}
