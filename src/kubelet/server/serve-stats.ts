import type { Summary } from '../../api/stats-summary.ts';
import { errorText } from '../../base/error-text.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { TlsRequest } from '../../host/tls-server.ts';
import type { StatsSource } from '../stats/stats-source.ts';
import { parseForm } from './parse-form.ts';
import { plainText } from './responses.ts';

/** Times are shown in whole seconds, as in kubelet. */
const FRACTION = /("(?:time|startTime)": "[^"]*?)\.\d+Z"/g;

/** `/stats/summary`. As in kubelet, the parameter counts only if it is given once, in the query or in a form. */
export async function serveStats(
  stats: StatsSource,
  request: Pick<TlsRequest, 'method' | 'headers' | 'rawQuery' | 'body' | 'signal'>,
): Promise<ServerResponse> {
  try {
    const form = await parseForm(request);
    const values = form.get('only_cpu_and_memory') ?? [];
    const onlyCpuAndMemory = values.length === 1 && values[0] === 'true';
    return summaryResponse(await stats.summary({ onlyCpuAndMemory }, request.signal));
  } catch (error) {
    return plainText(500, `Internal Error: ${errorText(error)}`);
  }
}

/** Indented by one space, as go-restful writes it. */
function summaryResponse(summary: Summary): ServerResponse {
  const body = JSON.stringify(summary, undefined, 1).replace(FRACTION, '$1Z"');
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}
