import type { TlsRequest } from '../../host/tls-server.ts';

/** Go's limit of a form in a request body. */
const MAX_FORM_BYTES = 10 * 1024 * 1024;
const FORM_TYPE = 'application/x-www-form-urlencoded';
const METHODS_WITH_FORM = ['POST', 'PUT', 'PATCH'];
const BROKEN_ESCAPE = /%(?![\da-f]{2}).{0,2}/is;

/** The values of each parameter, those of the body first: Go's `ParseForm`. Rejects with its errors. */
export async function parseForm(
  request: Pick<TlsRequest, 'method' | 'headers' | 'rawQuery' | 'body'>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  try {
    const parts = [await bodyForm(request), request.rawQuery];
    for (const part of parts) checkQuery(part);
    const pairs = parts.flatMap((part) => [...new URLSearchParams(part)]);
    const grouped = Map.groupBy(pairs, ([name]) => name);
    return new Map([...grouped].map(([name, all]) => [name, all.map(([, value]) => value)]));
  } catch (error) {
    throw new Error(`parse form failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

async function bodyForm({ method, headers, body }: Pick<TlsRequest, 'method' | 'headers' | 'body'>): Promise<string> {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (!METHODS_WITH_FORM.includes(method) || type.trim().toLowerCase() !== FORM_TYPE) return '';
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > MAX_FORM_BYTES) throw new Error('http: POST too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Throws what Go's `url.ParseQuery` returns for the first invalid parameter. */
function checkQuery(query: string): void {
  for (const pair of query.split('&')) {
    if (pair.includes(';')) throw new Error('invalid semicolon separator in query');
    const broken = BROKEN_ESCAPE.exec(pair)?.[0];
    if (broken !== undefined) throw new Error(`invalid URL escape ${JSON.stringify(broken)}`);
  }
}
