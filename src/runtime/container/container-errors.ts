import { errorText } from '../../base/error-text.ts';
import { CriError } from '../../cri/cri-error.ts';

/** The error of a verb: `CriError`s and the caller's abort reason unchanged, others as `Unknown` with `action` in front. */
export function asCriError(action: string, error: unknown, signal: AbortSignal): unknown {
  if (error instanceof CriError || (signal.aborted && error === signal.reason)) return error;
  return new CriError('Unknown', `${action}: ${errorText(error)}`, { cause: error });
}

export function containerNotFound(id: string): CriError {
  return new CriError('NotFound', `container ${JSON.stringify(id)} not found`);
}
