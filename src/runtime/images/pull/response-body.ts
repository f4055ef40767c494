import { collectBytes, limitBytes } from '../../../base/byte-chunks.ts';
import type { HttpResponse } from '../../../host/network.ts';
import { asObject, listField, stringField } from '../json-fields.ts';
import { RegistryError } from './registry-error.ts';

/** Limit for manifests, configurations and tokens, which are held in memory. */
export const MAX_SMALL_BYTES = 8 * 1024 * 1024;
/** Limit for bodies that are read to reuse the connection, or for an error text. */
const MAX_DISCARDED_BYTES = 64 * 1024;
const MAX_MESSAGE_LENGTH = 500;

/** Reads a manifest, configuration or token. */
export async function readSmallBody({ headers, body }: HttpResponse, limit = MAX_SMALL_BYTES): Promise<Uint8Array> {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new RegistryError(0, `unsolicited content encoding ${encoding}`);
  return collectBytes(limitBytes(body, limit, () => new RegistryError(0, `response of more than ${limit} bytes`)));
}

/** Reads a short body so that the connection can be reused; closes the connection on a long one. */
export async function discardBody(response: HttpResponse): Promise<void> {
  const length = Number(response.headers['content-length'] ?? Number.NaN);
  if (length <= MAX_DISCARDED_BYTES) await readSmallBody(response, MAX_DISCARDED_BYTES).catch(() => {});
  else await response.body[Symbol.asyncIterator]().return?.();
}

/** Returns the status and the registry's error messages, if any: `{errors: [{code, message}]}`. */
export async function responseErrorText(response: HttpResponse): Promise<string> {
  const data = await readSmallBody(response, MAX_DISCARDED_BYTES).catch(() => new Uint8Array());
  const errors = registryErrors(new TextDecoder().decode(data));
  return errors === '' ? `status ${response.status}` : `status ${response.status}: ${errors}`;
}

function registryErrors(text: string): string {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return '';
  }
  const messages = listField(asObject(answer), 'errors').map((each) => {
    const error = asObject(each);
    return [stringField(error, 'code'), stringField(error, 'message')].filter((part) => part !== '').join(': ');
  });
  // Untrusted text: one line, limited length.
  return messages
    .filter((message) => message !== '')
    .join(', ')
    .replace(/\p{C}+/gu, ' ')
    .slice(0, MAX_MESSAGE_LENGTH);
}
