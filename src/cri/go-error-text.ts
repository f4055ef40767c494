import { goErrorList } from '../base/go/go-error-list.ts';
import { errorText } from '../base/error-text.ts';
import { CriError, rpcErrorText } from './cri-error.ts';

/** An error as kubelet prints it, whether the runtime, several attempts or something else failed. */
export function goErrorText(error: unknown): string {
  if (error instanceof AggregateError) return goErrorList(error.errors.map(goErrorText));
  return error instanceof CriError ? rpcErrorText(error) : errorText(error);
}
