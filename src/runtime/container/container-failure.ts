import { textOf } from '../../base/text-of.ts';
import { CriError } from '../../cri/cri-error.ts';

/** What a verb rejects with: what was said with a code already, the caller's own abort, or `action` and why not. */
export function failureOf(action: string, error: unknown, signal: AbortSignal): unknown {
  if (error instanceof CriError || (signal.aborted && error === signal.reason)) return error;
  return new CriError('Unknown', `${action}: ${textOf(error)}`, { cause: error });
}

export function containerNotFound(id: string): CriError {
  return new CriError('NotFound', `container ${JSON.stringify(id)} not found`);
}
