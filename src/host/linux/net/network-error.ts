import { NetworkError } from '../../network.ts';
import { errnoCode } from '../sys/errno-code.ts';

/** Gives what Node.js throws the port's shape. `EPROTO` stands for an answer that breaks the protocol. */
export function asNetworkError(error: unknown): NetworkError {
  if (error instanceof NetworkError) return error;
  const code = errnoCode(error) ?? 'EPROTO';
  return new NetworkError(code, error instanceof Error ? error.message : String(error), { cause: error });
}
