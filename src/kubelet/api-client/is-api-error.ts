import { ApiError, type ApiErrorReason } from './api-server.ts';

/** Whether the API server answered with one of these reasons. */
export function isApiError(error: unknown, ...reasons: readonly ApiErrorReason[]): error is ApiError {
  return error instanceof ApiError && reasons.includes(error.reason);
}
