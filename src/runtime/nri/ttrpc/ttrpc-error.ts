/** The gRPC codes in use. */
export const TTRPC_CODES = {
  unknown: 2,
  invalidArgument: 3,
  resourceExhausted: 8,
  unimplemented: 12,
} as const;

/** An error response of the peer. */
export class TtrpcError extends Error {
  override readonly name = 'TtrpcError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The connection is closed. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}
