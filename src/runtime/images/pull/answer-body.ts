import { limited, wholeBytes } from '../../../base/byte-chunks.ts';
import type { HttpResponse } from '../../../host/network.ts';
import { listField, objectOf, textField } from '../json-fields.ts';
import { RegistryError } from './registry-error.ts';

/** Manifests, configurations, tokens: nothing that is kept in memory is larger. */
export const MAX_SMALL_BYTES = 8 * 1024 * 1024;
/** Of an answer that is only read so that its connection can be used again, or for a reason. */
const MAX_SAID_BYTES = 64 * 1024;
const MAX_WORDS = 500;

/** A manifest, a token: nothing that is meant to be large. */
export async function smallBody({ headers, body }: HttpResponse, limit = MAX_SMALL_BYTES): Promise<Uint8Array> {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new RegistryError(0, `an answer in the encoding ${encoding}, which nobody asked for`);
  return wholeBytes(limited(body, limit, () => new RegistryError(0, `an answer of more than ${limit} bytes`)));
}

/** Reads what little there is, for the sake of the connection; what is long goes with it. */
export async function leave(response: HttpResponse): Promise<void> {
  const length = Number(response.headers['content-length'] ?? Number.NaN);
  if (length <= MAX_SAID_BYTES) await smallBody(response, MAX_SAID_BYTES).catch(() => {});
  else await response.body[Symbol.asyncIterator]().return?.();
}

/** The registry's own words where it has some: `{errors: [{code, message}]}`. */
export async function refusalText(response: HttpResponse): Promise<string> {
  const data = await smallBody(response, MAX_SAID_BYTES).catch(() => new Uint8Array());
  const said = registryWords(new TextDecoder().decode(data));
  return said === '' ? `status ${response.status}` : `status ${response.status}: ${said}`;
}

function registryWords(text: string): string {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return '';
  }
  const words = listField(objectOf(answer), 'errors').map((each) => {
    const error = objectOf(each);
    return [textField(error, 'code'), textField(error, 'message')].filter((part) => part !== '').join(': ');
  });
  // On one line and not too long, whoever has written it.
  return words
    .filter((word) => word !== '')
    .join(', ')
    .replace(/\p{C}+/gu, ' ')
    .slice(0, MAX_WORDS);
}
