import { errorText } from '../../base/error-text.ts';
import { CriError, codeFromName } from '../../cri/cri-error.ts';

/** A `CriError` as it is sent to another process. */
export interface EncodedError {
  readonly code: string;
  readonly message: string;
}

export function encodeError(error: unknown): EncodedError {
  return { code: error instanceof CriError ? error.code : 'Unknown', message: errorText(error) };
}

export function decodeError({ code, message }: EncodedError): CriError {
  return new CriError(codeFromName(code), message);
}
