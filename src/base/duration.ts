/** Durations as Go writes them: `1m0s`, `1.5h`, `100ms`. Exact values are nanoseconds in a bigint. */

/** The text is not a duration; the message is Go's. */
export class DurationError extends Error {
  override readonly name = 'DurationError';
}

const NS_PER_MS = 1_000_000n;
const SECOND = 1_000_000_000n;
const MINUTE = 60n * SECOND;
const HOUR = 60n * MINUTE;
const MAX_INT64 = 2n ** 63n - 1n;

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1000n],
  ['µs', 1000n], // U+00B5, micro
  ['μs', 1000n], // U+03BC, mu
  ['ms', NS_PER_MS],
  ['s', SECOND],
  ['m', MINUTE],
  ['h', HOUR],
]);

/** Nanoseconds. Throws a `DurationError`. */
export function parseDuration(text: string): bigint {
  const sign = /^[-+]/.exec(text)?.[0] ?? '';
  let rest = text.slice(sign.length);
  if (rest === '0') return 0n;
  if (rest === '') throw invalid(text);
  let total = 0n;
  while (rest !== '') {
    const [whole, integer = '', , fraction = '', unitName = ''] = /^([0-9]*)(\.([0-9]*))?([^0-9.]*)/.exec(rest) ?? [''];
    if (integer === '' && fraction === '') throw invalid(text);
    if (unitName === '') throw new DurationError(`time: missing unit in duration ${quote(text)}`);
    const unit = UNITS.get(unitName);
    if (unit === undefined) {
      throw new DurationError(`time: unknown unit ${quote(unitName)} in duration ${quote(text)}`);
    }
    total += BigInt(integer === '' ? '0' : integer) * unit + fractionOf(fraction, unit);
    if (total > MAX_INT64 + 1n) throw invalid(text);
    rest = rest.slice(whole.length);
  }
  if (sign !== '-' && total > MAX_INT64) throw invalid(text);
  return sign === '-' ? -total : total;
}

/** Milliseconds, with a fraction where the text has one. Throws a `DurationError`. */
export function parseDurationMs(text: string): number {
  return Number(parseDuration(text)) / 1e6;
}

/** As Go prints a duration: `0s`, `1.5ms`, `1m0s`, `72h3m0.5s`. */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds < 0n) return `-${formatDuration(-nanoseconds)}`;
  if (nanoseconds === 0n) return '0s';
  if (nanoseconds < 1000n) return `${nanoseconds}ns`;
  if (nanoseconds < NS_PER_MS) return `${decimal(nanoseconds, 3)}µs`;
  if (nanoseconds < SECOND) return `${decimal(nanoseconds, 6)}ms`;
  const hours = nanoseconds / HOUR;
  const minutes = (nanoseconds % HOUR) / MINUTE;
  const seconds = `${decimal(nanoseconds % MINUTE, 9)}s`;
  if (hours > 0n) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0n ? `${minutes}m${seconds}` : seconds;
}

export function formatDurationMs(ms: number): string {
  return formatDuration(BigInt(Math.round(ms * 1e6)));
}

/** Go reads as many digits as 64 bits hold, scales in floating point, and cuts what is left below a nanosecond. */
function fractionOf(digits: string, unit: bigint): bigint {
  let value = 0n;
  let scale = 1;
  for (const digit of digits) {
    const longer = value * 10n + BigInt(digit);
    if (longer > MAX_INT64 + 1n) break;
    value = longer;
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(unit) / scale)));
}

/** `value` with its last `places` digits behind the point, without zeros at the end. */
function decimal(value: bigint, places: number): string {
  const text = value.toString().padStart(places + 1, '0');
  const fraction = text.slice(-places).replace(/0+$/, '');
  const integer = text.slice(0, -places);
  return fraction === '' ? integer : `${integer}.${fraction}`;
}

function invalid(text: string): DurationError {
  return new DurationError(`time: invalid duration ${quote(text)}`);
}

/** As Go's time package quotes: every byte that is not printable ASCII by its number. */
function quote(text: string): string {
  const escaped = Array.from(Buffer.from(text), (byte) => {
    if (byte < 0x20 || byte >= 0x80) return `\\x${byte.toString(16).padStart(2, '0')}`;
    const character = String.fromCharCode(byte);
    return character === '"' || character === '\\' ? `\\${character}` : character;
  });
  return `"${escaped.join('')}"`;
}
