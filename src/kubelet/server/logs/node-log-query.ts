import { Buffer } from 'node:buffer';
import { goErrorList } from '../../../base/go/go-error-list.ts';
import { goJson } from '../../../base/go/go-json.ts';
import { goQuote } from '../../../base/go/go-quote.ts';
import { formatTime, parseTime } from '../../../base/rfc3339.ts';
import { patternError } from './pattern-error.ts';

/** A query for the logs of services or of one file of the node. */
export interface NodeLogQuery {
  readonly services: readonly string[];
  /** Paths in the log folder. */
  readonly files: readonly string[];
  readonly options: LogOptions;
}

export interface LogOptions {
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  readonly tailLines?: number | undefined;
  /** 0 is the current boot, -1 the one before. */
  readonly boot?: number | undefined;
  /** A regular expression. */
  readonly pattern?: string | undefined;
}

/** A query with the reasons why it cannot be read, or without any parameter of a query. */
export type ParsedQuery =
  | { readonly kind: 'query'; readonly query: NodeLogQuery; readonly untilText: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid'; readonly message: string };

const MAX_TAIL_LINES = 100_000;
const MAX_SERVICES = 4;
const MAX_SERVICE_LENGTH = 256;

/** Parses the parameters as kubelet does, with its messages. */
export function parseNodeLogQuery(query: URLSearchParams): ParsedQuery {
  const asked = query.getAll('query');
  const files = asked.filter((each) => /[/\\]/.test(each));
  const services = asked.filter((each) => !/[/\\]/.test(each) && each.trim() !== '');
  const errors: string[] = [];
  if (asked.length > 0 && files.length === 0 && services.length === 0) {
    errors.push(`query: Invalid value: ${goJson(asked)}: may not be empty`);
  }
  const number = (name: string): number | undefined => readNumber(name, query.get(name) ?? '', errors);
  const time = (name: string): number | undefined => readTime(name, query.get(name) ?? '', errors);
  const [sinceMs, untilMs, boot, tailLines] = [
    time('sinceTime'),
    time('untilTime'),
    number('boot'),
    number('tailLines'),
  ];
  if (errors.length > 0) return { kind: 'invalid', message: goErrorList(errors) };
  const options = { sinceMs, untilMs, boot, tailLines, pattern: query.get('pattern') || undefined };
  if (asked.length === 0 && !hasOptions(options)) return { kind: 'none' };
  return { kind: 'query', query: { services, files, options }, untilText: query.get('untilTime') ?? '' };
}

function readNumber(name: string, text: string, errors: string[]): number | undefined {
  if (text === '') return undefined;
  const syntaxError = !/^[+-]?\d+$/.test(text) ? 'invalid syntax' : isInt64(text) ? undefined : 'value out of range';
  if (syntaxError === undefined) return Number(text);
  errors.push(`${name}: Invalid value: ${goQuote(text)}: strconv.Atoi: parsing ${goQuote(text)}: ${syntaxError}`);
  return undefined;
}

function isInt64(text: string): boolean {
  const value = BigInt(text.replace(/^\+/, ''));
  return value < 2n ** 63n && value >= -(2n ** 63n);
}

function readTime(name: string, text: string, errors: string[]): number | undefined {
  if (text === '') return undefined;
  try {
    return parseTime(text);
  } catch {
    errors.push(`${name}: Invalid value: ${goQuote(text)}: invalid time format`);
    return undefined;
  }
}

export function hasOptions(options: LogOptions): boolean {
  return Object.values(options).some((value) => value !== undefined);
}

/** Why a query is not accepted; `undefined`: it is. `fileError` is the error of the one file that is asked for. */
export function nodeLogQueryError(
  { services, files, options }: NodeLogQuery,
  untilText: string,
  fileError: string | undefined,
): string | undefined {
  const errors = [
    ...services.flatMap(serviceErrors),
    ...(services.length > MAX_SERVICES
      ? [`query: Too many: ${services.length}: must have at most ${MAX_SERVICES} items`]
      : []),
    ...targetErrors(services, files, options, fileError),
    ...optionErrors(options, untilText),
  ];
  return errors.length === 0 ? undefined : goErrorList(errors);
}

function serviceErrors(service: string): readonly string[] {
  const invalid = `query: Invalid value: ${goQuote(service)}:`;
  if (Buffer.byteLength(service) > MAX_SERVICE_LENGTH)
    return [`${invalid} length must be less than ${MAX_SERVICE_LENGTH}`];
  return /[^a-zA-Z\-_.:0-9@]/.test(service) ? [`${invalid} input contains unsupported characters`] : [];
}

function targetErrors(
  services: readonly string[],
  files: readonly string[],
  options: LogOptions,
  fileError: string | undefined,
): readonly string[] {
  const invalid = `query: Invalid value: ${goJson(files)}:`;
  if (files.length === 0) return services.length > 0 ? [] : ['query: Required value: cannot be empty with options'];
  if (services.length > 0) {
    const both = goQuote(`[${files.join(' ')}], [${services.join(' ')}]`);
    return [`query: Invalid value: ${both}: cannot specify a file and service`];
  }
  if (files.length > 1) return [`${invalid} cannot specify more than one file`];
  if (hasOptions(options)) return [`${invalid} cannot specify file with options`];
  return fileError === undefined ? [] : [`${invalid} ${fileError}`];
}

function* optionErrors(
  { sinceMs, untilMs, boot, tailLines, pattern }: LogOptions,
  untilText: string,
): Generator<string> {
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs) {
    yield `untilTime: Invalid value: ${goQuote(untilText)}: must be after \`sinceTime\``;
  }
  if (boot !== undefined && boot > 0) yield `boot: Invalid value: ${boot}: must be less than 1`;
  if (tailLines !== undefined && (tailLines < 0 || tailLines > MAX_TAIL_LINES)) {
    yield `tailLines: Invalid value: ${tailLines}: must be between 0 and ${MAX_TAIL_LINES}, inclusive`;
  }
  const wrong = pattern === undefined ? undefined : patternError(pattern);
  if (wrong !== undefined) yield `pattern: Invalid value: ${goQuote(pattern ?? '')}: ${wrong}`;
}

/** The arguments of journalctl. Values are joined to their options: none of them can become an option. */
export function journalArguments(
  { sinceMs, untilMs, boot, tailLines, pattern }: LogOptions,
  services: readonly string[],
) {
  return [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    ...(sinceMs === undefined ? [] : [`--since=${journalTime(sinceMs)}`]),
    ...(untilMs === undefined ? [] : [`--until=${journalTime(untilMs)}`]),
    ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`]),
    ...(boot === undefined ? [] : ['--boot', String(boot)]),
  ];
}

/** In UTC, as the zone of the machine is another. */
function journalTime(ms: number): string {
  return `${formatTime(ms).replace('T', ' ').replace('Z', '')} UTC`;
}
