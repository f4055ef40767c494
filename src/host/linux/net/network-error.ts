import { NetworkError } from '../../network.ts';
import { errnoCode } from '../sys/errno-code.ts';

/** Turns an error of Node.js into a `NetworkError`. `EPROTO` stands for a response that violates the protocol. */
export function asNetworkError(error: unknown): NetworkError {
  if (error instanceof NetworkError) return error;
  const code = errnoCode(error) ?? 'EPROTO';
  return new NetworkError(code, error instanceof Error ? error.message : String(error), { cause: error });
}
