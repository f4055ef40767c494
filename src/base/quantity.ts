/** The notation of a quantity, which is kept when it is printed: `12M`, `12Mi`, `12e6`. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** The text is not a quantity; the message is the API server's. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

/** An exact amount of a resource, no finer than a billionth. Immutable. */
export class Quantity {
  /** Billionths. */
  readonly nano: bigint;
  readonly format: QuantityFormat;
  /** The text it was parsed from, where Kubernetes would print that again instead of its canonical form. */
  readonly #written: string | undefined;

  constructor(nano: bigint, format: QuantityFormat, written?: string) {
    this.nano = nano;
    this.format = format;
    this.#written = written;
  }

  /** In whole units; a fraction counts as one more (away from zero). */
  value(): bigint {
    return divideAwayFromZero(this.nano, NANO);
  }

  /** In thousandths; a fraction of one counts as one more (away from zero). */
  milliValue(): bigint {
    return divideAwayFromZero(this.nano, NANO / 1000n);
  }

  /** Negative, zero or positive, as this amount is less than, equal to or more than the other. */
  compare(other: Quantity): number {
    return this.nano < other.nano ? -1 : this.nano > other.nano ? 1 : 0;
  }

  isZero(): boolean {
    return this.nano === 0n;
  }

  isNegative(): boolean {
    return this.nano < 0n;
  }

  /** Written like this amount, or like the other when this one is zero. */
  add(other: Quantity): Quantity {
    return new Quantity(this.nano + other.nano, this.isZero() ? other.format : this.format);
  }

  /** Written like this amount, or like the other when this one is zero. */
  sub(other: Quantity): Quantity {
    return this.add(new Quantity(-other.nano, other.format));
  }

  /** No finer than a thousandth; a fraction of one counts as one more. Resource lists are kept like this. */
  roundUpToMilli(): Quantity {
    const perMilli = NANO / 1000n;
    return this.nano % perMilli === 0n ? this : new Quantity(this.milliValue() * perMilli, this.format);
  }

  /** The largest suffix that leaves no fraction, as Kubernetes prints it. */
  toString(): string {
    if (this.#written !== undefined) return this.#written;
    if (this.isZero()) return '0';
    const size = this.nano < 0n ? -this.nano : this.nano;
    const isWhole = size % NANO === 0n;
    if (this.format === 'BinarySI' && isWhole && size >= 1024n * NANO) return binaryText(this.nano / NANO);
    return decimalText(this.nano, this.format === 'DecimalExponent');
  }

  toJSON(): string {
    return this.toString();
  }
}

const NANO = 1_000_000_000n;
const MAX_INT64 = 2n ** 63n - 1n;
/** Larger exponents mean nothing, and would make a number of as many digits. */
const MAX_EXPONENT = 1000;

const DECIMAL_SUFFIXES = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** Each run of digits is matched as a whole: without the lookaheads, a mismatch after many digits takes cubic time. */
const PATTERN = /^([+-]?)(0*)(?!0)([0-9]*)(?![0-9])(\.([0-9]*)(?![0-9]))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** Parses `100Mi`, `500m`, `1e3`, `.5`, or a JSON number. Throws a `QuantityError`. */
export function parseQuantity(input: string | number): Quantity {
  const text = String(input);
  const match = text === '' ? null : PATTERN.exec(text);
  if (!match) throw new QuantityError(FORMAT_WRONG);
  const [, sign = '', zeros = '', integer = '', , fraction = '', suffix = ''] = match;
  const { base, exponent, format } = readSuffix(suffix);
  const parts = { integer: integer || '0', fraction, exponent, format };
  if (zeros + integer + fraction === '' && !fitsShortPath(parts)) {
    throw new QuantityError('unable to parse numeric part of quantity');
  }
  const digits = BigInt(integer + fraction || '0');
  const size =
    base === 2 ? binarySize(digits, fraction.length, exponent) : decimalSize(digits, fraction.length, exponent);
  const nano = sign === '-' ? -size : size;
  if (format === 'BinarySI' && size > 0n && size < NANO) return new Quantity(nano, 'DecimalSI');
  const isCanonical = text !== '0' && keepsItsText(parts);
  return new Quantity(nano, format, isCanonical ? text : undefined);
}

function readSuffix(suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = DECIMAL_SUFFIXES.indexOf(suffix);
  if (decimal >= 0) return { base: 10, exponent: decimal * 3 - 9, format: 'DecimalSI' };
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  if (binary > 0) return { base: 2, exponent: binary * 10, format: 'BinarySI' };
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(suffix)?.[1];
  if (exponent === undefined || Number(exponent) > MAX_EXPONENT) {
    throw new QuantityError("unable to parse quantity's suffix");
  }
  return { base: 10, exponent: Number(exponent), format: 'DecimalExponent' };
}

function decimalSize(digits: bigint, fractionDigits: number, exponent: number): bigint {
  const shift = exponent - fractionDigits + 9;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  // Who asks for something gets something: less than a billionth counts as one.
  if (-shift > MAX_EXPONENT + fractionDigits) return digits === 0n ? 0n : 1n;
  return divideAwayFromZero(digits, 10n ** BigInt(-shift));
}

/** Sizes with a binary suffix stop at the largest 64-bit number. */
function binarySize(digits: bigint, fractionDigits: number, exponent: number): bigint {
  const size = decimalSize(digits * 2n ** BigInt(exponent), fractionDigits, 0);
  if (size > MAX_INT64 * NANO) return MAX_INT64 * NANO;
  return size;
}

interface QuantityParts {
  /** Without zeros at the start, but never empty. */
  readonly integer: string;
  readonly fraction: string;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

/**
 * Kubernetes has a short path for what surely fits 64 bits. It shows in two ways: there a suffix alone (`m`) is zero,
 * and what looks canonical at a glance is printed as it was read (`1.500` stays, though `1.5` becomes `1500m`).
 */
function fitsShortPath({ integer, fraction, exponent, format }: QuantityParts): boolean {
  if (format !== 'BinarySI') return integer.length + fraction.length <= 18 && exponent - fraction.length >= -9;
  return fraction === '' && 15 - integer.length - Math.trunc((exponent * 3) / 10) - 1 >= 0;
}

function keepsItsText(parts: QuantityParts): boolean {
  const { integer, fraction, exponent, format } = parts;
  if (!fitsShortPath(parts)) return false;
  if (format === 'BinarySI') return BigInt(integer) % 8n !== 0n;
  const digits = integer + fraction;
  return (exponent - fraction.length) % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
}

function binaryText(value: bigint): string {
  let mantissa = value;
  let power = 0;
  while (mantissa % 1024n === 0n && power < BINARY_SUFFIXES.length - 1) {
    mantissa /= 1024n;
    power++;
  }
  return `${mantissa}${BINARY_SUFFIXES[power]}`;
}

function decimalText(nano: bigint, withExponent: boolean): string {
  let mantissa = nano;
  let thousands = 0;
  while (mantissa % 1000n === 0n && (withExponent || thousands < DECIMAL_SUFFIXES.length - 1)) {
    mantissa /= 1000n;
    thousands++;
  }
  if (!withExponent) return `${mantissa}${DECIMAL_SUFFIXES[thousands]}`;
  const exponent = thousands * 3 - 9;
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
}

function divideAwayFromZero(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  if (value % by === 0n) return quotient;
  return value > 0n ? quotient + 1n : quotient - 1n;
}
