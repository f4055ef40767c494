/** gRPC's codes, as far as we tell or look for them. */
export const TTRPC_CODES = {
  unknown: 2,
  invalidArgument: 3,
  resourceExhausted: 8,
  unimplemented: 12,
} as const;

/** The other side answered that it does not do what was asked. */
export class TtrpcError extends Error {
  override readonly name = 'TtrpcError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** There is no connection any more. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}
