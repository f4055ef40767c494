import { textOf } from '../../base/text-of.ts';
import { CriError, codeOfName } from '../../cri/cri-error.ts';

/** A `CriError` on its way to another process. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

export function refusalOf(error: unknown): Refusal {
  return { code: error instanceof CriError ? error.code : 'Unknown', message: textOf(error) };
}

export function refusedWith({ code, message }: Refusal): CriError {
  return new CriError(codeOfName(code), message);
}
