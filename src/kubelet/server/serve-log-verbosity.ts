import { Buffer } from 'node:buffer';
import { errorText } from '../../base/error-text.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { TlsRequest } from '../../host/tls-server.ts';

/** A verbosity has at most ten digits. */
const MAX_BODY_BYTES = 1024;
const HEADERS = { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' };

/** `/debug/flags/v`: PUT sets the verbosity of the log until the end of the process. */
export async function serveLogVerbosity(
  { method, body }: Pick<TlsRequest, 'method' | 'body'>,
  setVerbosity: (verbosity: number) => void,
): Promise<ServerResponse> {
  if (method !== 'PUT') return line(406, 'unsupported http method');
  let text: string;
  try {
    text = await readText(body);
  } catch (error) {
    return line(400, `error reading request body: ${errorText(error)}`);
  }
  const syntaxError = !/^\d+$/.test(text)
    ? 'invalid syntax'
    : Number(text) >= 2 ** 32
      ? 'value out of range'
      : undefined;
  if (syntaxError !== undefined) return line(400, `strconv.ParseUint: parsing ${goQuote(text)}: ${syntaxError}`);
  if (Number(text) >= 2 ** 31) {
    const cause = `strconv.ParseInt: parsing ${goQuote(text)}: value out of range`;
    return line(400, `failed set klog.logging.verbosity ${text}: ${cause}`);
  }
  setVerbosity(Number(text));
  return line(200, `successfully set klog.logging.verbosity to ${text}`);
}

function line(status: number, text: string): ServerResponse {
  return { status, headers: HEADERS, body: `${text}\n` };
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > MAX_BODY_BYTES) throw new Error('http: request body too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
