import { ExpectedError } from '../base/expected-error.ts';

/** gRPC codes by their Go names, at the index of their number. */
const CODES = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const;

export type CriCode = Exclude<(typeof CODES)[number], 'OK'>;

/** An error of a CRI call. `message` is the runtime's own text, which users see. */
export class CriError extends ExpectedError {
  override readonly name = 'CriError';
  readonly code: CriCode;
  /** The RPC's name in the protocol (`RunPodSandbox`), if known. */
  readonly method: string | undefined;

  constructor(code: CriCode, message: string, options: ErrorOptions & { readonly method?: string } = {}) {
    super(message, options);
    this.code = code;
    this.method = options.method;
  }
}

/** Unknown numbers become `Unknown`, as in every gRPC library. */
export function codeFromNumber(number: number): CriCode {
  const code = CODES[number];
  return code === undefined || code === 'OK' ? 'Unknown' : code;
}

/** Unknown names become `Unknown`. */
export function codeFromName(name: string): CriCode {
  return CODES.find((code): code is CriCode => code === name && code !== 'OK') ?? 'Unknown';
}

export function codeToNumber(code: CriCode): number {
  return CODES.indexOf(code);
}

export function isNotFound(error: unknown): boolean {
  return hasCode(error, 'NotFound');
}

export function hasCode(error: unknown, code: CriCode): error is CriError {
  return error instanceof CriError && error.code === code;
}

/** kubelet's text for events and statuses: Go's gRPC error, without the code for a pull that failed with `Unknown`. */
export function rpcErrorText(error: CriError): string {
  if (error.method === 'PullImage' && error.code === 'Unknown') return error.message;
  return `rpc error: code = ${error.code} desc = ${error.message}`;
}
