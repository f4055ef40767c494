/** One thing that is wrong with an object, as the API server would say it. */
export interface FieldError {
  /** `spec.containers[0].name` */
  readonly path: string;
  readonly type: FieldErrorType;
  /** What stands there; not shown for types that do not show it. */
  readonly value?: unknown;
  readonly detail: string;
}

export type FieldErrorType =
  | 'Required'
  | 'Invalid'
  | 'Duplicate'
  | 'NotSupported'
  | 'NotFound'
  | 'Forbidden'
  | 'TooLong'
  | 'TooMany';

/** The checks of one part of an object. */
export type FieldErrors = Generator<FieldError, void, undefined>;

const TITLES: Readonly<Record<FieldErrorType, string>> = {
  Required: 'Required value',
  Invalid: 'Invalid value',
  Duplicate: 'Duplicate value',
  NotSupported: 'Unsupported value',
  NotFound: 'Not found',
  Forbidden: 'Forbidden',
  TooLong: 'Too long',
  TooMany: 'Too many',
};

/** `spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"` */
export function formatFieldError({ path, type, value, detail }: FieldError): string {
  const shown = value === undefined ? '' : `: ${JSON.stringify(value)}`;
  return `${path}: ${TITLES[type]}${shown}${detail === '' ? '' : `: ${detail}`}`;
}

export function required(path: string, detail = ''): FieldError {
  return { path, type: 'Required', detail };
}

export function invalid(path: string, value: unknown, detail: string): FieldError {
  return { path, type: 'Invalid', value, detail };
}

export function duplicate(path: string, value: unknown): FieldError {
  return { path, type: 'Duplicate', value, detail: '' };
}

export function notFound(path: string, value: unknown, detail = ''): FieldError {
  return { path, type: 'NotFound', value, detail };
}

export function notSupported(path: string, value: string, supported: readonly string[]): FieldError {
  const list = supported.map((text) => JSON.stringify(text)).join(', ');
  return { path, type: 'NotSupported', value, detail: `supported values: ${list}` };
}

export function forbidden(path: string, detail: string): FieldError {
  return { path, type: 'Forbidden', detail };
}

export function tooLong(path: string, max: number): FieldError {
  return { path, type: 'TooLong', detail: `may not be more than ${max} bytes` };
}

export function tooMany(path: string, count: number, max: number): FieldError {
  return { path, type: 'TooMany', value: count, detail: `must have at most ${max} item${max === 1 ? '' : 's'}` };
}

/** Something other than what is supported. */
export function* oneOf(path: string, value: string, supported: readonly string[]): FieldErrors {
  if (!supported.includes(value)) yield notSupported(path, value, supported);
}

/** Nothing, or something other than what is supported. */
export function* requiredOneOf(path: string, value: string | undefined, supported: readonly string[]): FieldErrors {
  if (value === undefined || value === '') yield required(path);
  else yield* oneOf(path, value, supported);
}

/** One error for each of the messages that a check of `base/` found in a value. */
export function* invalidFor(path: string, value: unknown, messages: readonly string[]): FieldErrors {
  for (const message of messages) yield invalid(path, value, message);
}

/** Nothing, or something the check has something against. */
export function* requiredAnd(path: string, value: string | undefined, check: (value: string) => string[]): FieldErrors {
  if (value === undefined || value === '') yield required(path);
  else yield* invalidFor(path, value, check(value));
}

export function* notNegative(path: string, value: number | undefined): FieldErrors {
  if (value !== undefined && value < 0) yield invalid(path, value, 'must be greater than or equal to 0');
}
