import { formatTime, parseTime } from '../../../base/rfc3339.ts';

const DAYS = ['Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue', 'Wed'] as const;
const MONTHS: readonly string[] = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MS_PER_DAY = 86_400_000;

/** `Wed, 18 Nov 2026 19:45:56 GMT` */
export function formatHttpDate(ms: number): string {
  const [, year = '', month = '', day = '', time = ''] = /^(\d+)-(\d\d)-(\d\d)T([\d:]+)/.exec(formatTime(ms)) ?? [];
  const weekday = DAYS[((Math.floor(ms / MS_PER_DAY) % 7) + 7) % 7];
  return `${weekday}, ${day} ${MONTHS[Number(month) - 1]} ${year} ${time} GMT`;
}

/** In milliseconds; `undefined` for any other text. */
export function parseHttpDate(text: string): number | undefined {
  const match = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) GMT$/.exec(text);
  const [, day, name = '', year, time] = match ?? [];
  const month = MONTHS.indexOf(name) + 1;
  if (month === 0) return undefined;
  try {
    return parseTime(`${year}-${String(month).padStart(2, '0')}-${day}T${time}Z`);
  } catch {
    return undefined;
  }
}
