/** Times as the API writes them, in UTC, without the platform's calendar. */

/** The text is not an RFC 3339 time. */
export class TimeError extends Error {
  override readonly name = 'TimeError';
}

const NS_PER_MS = 1_000_000n;
const NS_PER_SECOND = 1_000_000_000n;
const SECONDS_PER_DAY = 86_400;

/** `2026-11-15T09:02:09Z`, from milliseconds since 1970; what is below a second is cut. */
export function formatTime(ms: number): string {
  return `${secondsText(Math.floor(ms / 1000))}Z`;
}

/** `2026-11-15T09:02:09.000001Z`, always six digits, as leases and events have it. */
export function formatMicroTime(ms: number): string {
  const micros = Math.floor(ms * 1000);
  const seconds = Math.floor(micros / 1e6);
  return `${secondsText(seconds)}.${pad(micros - seconds * 1e6, 6)}Z`;
}

/** `2026-11-15T09:02:09.5Z`, from nanoseconds since 1970, without zeros at the end of the fraction. */
export function formatNanoTime(ns: bigint): string {
  const seconds = floorDivide(ns, NS_PER_SECOND);
  const fraction = (ns - seconds * NS_PER_SECOND).toString().padStart(9, '0').replace(/0+$/, '');
  return `${secondsText(Number(seconds))}${fraction === '' ? '' : `.${fraction}`}Z`;
}

const PATTERN = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Nanoseconds since 1970. Stricter than Go, which also takes one digit for the hour. Throws a `TimeError`. */
export function parseNanoTime(text: string): bigint {
  const match = PATTERN.exec(text);
  if (!match) throw new TimeError(`cannot parse ${JSON.stringify(text)} as an RFC 3339 time`);
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const [fraction = '', sign = '+', zoneHour = '0', zoneMinute = '0'] = match.slice(7);
  const inRange =
    month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month) && hour < 24 && minute < 60 && second < 60;
  if (!inRange || Number(zoneHour) > 23 || Number(zoneMinute) > 59) {
    throw new TimeError(`cannot parse ${JSON.stringify(text)} as an RFC 3339 time: a part is out of range`);
  }
  const offset = (Number(zoneHour) * 60 + Number(zoneMinute)) * (sign === '-' ? -60 : 60);
  const seconds = daysFromCivil(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset;
  return BigInt(seconds) * NS_PER_SECOND + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}

/** Milliseconds since 1970; what is below a millisecond is cut. Throws a `TimeError`. */
export function parseTime(text: string): number {
  return Number(floorDivide(parseNanoTime(text), NS_PER_MS));
}

function secondsText(seconds: number): string {
  const days = Math.floor(seconds / SECONDS_PER_DAY);
  const rest = seconds - days * SECONDS_PER_DAY;
  const { year, month, day } = civilFromDays(days);
  const date = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
  return `${date}T${pad(Math.floor(rest / 3600), 2)}:${pad(Math.floor(rest / 60) % 60, 2)}:${pad(rest % 60, 2)}`;
}

// The calendar repeats every 400 years (an era), and a year that starts in March has its leap day at the end. Both
// functions count from 0000-03-01, which is 719468 days before 1970-01-01.
const DAYS_PER_ERA = 146_097;
const DAYS_BEFORE_1970 = 719_468;

function daysFromCivil(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * DAYS_PER_ERA + dayOfEra - DAYS_BEFORE_1970;
}

function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + DAYS_BEFORE_1970;
  const era = Math.floor(shifted / DAYS_PER_ERA);
  const dayOfEra = shifted - era * DAYS_PER_ERA;
  const leapDays = Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

function daysIn(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

function floorDivide(value: bigint, by: bigint): bigint {
  return value < 0n && value % by !== 0n ? value / by - 1n : value / by;
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}
