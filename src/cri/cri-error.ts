import { ExpectedError } from '../base/expected-error.ts';

/** gRPC's codes by the names that Go prints, at the index of their number. */
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

/** What a runtime answers when it does not do what was asked. `message` is the runtime's own text, for users to see. */
export class CriError extends ExpectedError {
  override readonly name = 'CriError';
  readonly code: CriCode;
  /** The rpc as the protocol spells it (`RunPodSandbox`), where it is known. */
  readonly method: string | undefined;

  constructor(code: CriCode, message: string, options: ErrorOptions & { readonly method?: string } = {}) {
    super(message, options);
    this.code = code;
    this.method = options.method;
  }
}

/** A number that gRPC does not know counts as `Unknown`, as in every gRPC library. */
export function codeFromNumber(number: number): CriCode {
  const code = CODES[number];
  return code === undefined || code === 'OK' ? 'Unknown' : code;
}

/** A name that gRPC does not know counts as `Unknown`. */
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

/** The text that kubelet puts into events and statuses: Go's, without the code where it says nothing about a pull. */
export function rpcErrorText(error: CriError): string {
  if (error.method === 'PullImage' && error.code === 'Unknown') return error.message;
  return `rpc error: code = ${error.code} desc = ${error.message}`;
}
