import type { ServerResponse } from '../../host/network.ts';
import { plainText } from './answers.ts';

/** A check says what is wrong, or nothing. */
export type HealthChecks = ReadonlyMap<string, () => string | undefined>;

/** `/healthz`, or one of its checks; `undefined`: there is no such check. */
export function healthz(
  checks: HealthChecks,
  check: string | undefined,
  query: URLSearchParams,
): ServerResponse | undefined {
  if (check !== undefined) return oneCheck(checks.get(check));
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
  if (!isHealthy) return plainText(500, `${lines.join('\n')}\nhealthz check failed\n`);
  return plainText(200, query.has('verbose') ? `${lines.join('\n')}\nhealthz check passed\n` : 'ok');
}

function oneCheck(fault: (() => string | undefined) | undefined): ServerResponse | undefined {
  if (!fault) return undefined;
  const why = fault();
  return why === undefined ? plainText(200, 'ok') : plainText(500, `internal server error: ${why}\n`);
}
