import { errorText } from '../base/error-text.ts';
import { goErrorList } from '../base/go/go-error-list.ts';
import { CriError, rpcErrorText } from './cri-error.ts';

/** An error as kubelet prints it: CRI errors as gRPC errors, aggregates as Go error lists. */
export function goErrorText(error: unknown): string {
  if (error instanceof AggregateError) return goErrorList(error.errors.map(goErrorText));
  return error instanceof CriError ? rpcErrorText(error) : errorText(error);
}
