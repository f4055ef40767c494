import { parseTime, TimeError } from '../../base/rfc3339.ts';
import type { LogStream } from '../logs/log-entries.ts';
import { HttpError } from './responses.ts';

/** The options of `kubectl logs`. */
export interface LogQuery {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly since: { readonly seconds: number } | { readonly timeMs: number } | undefined;
  /** Absent: both. */
  readonly stream: LogStream | undefined;
}

const STREAMS: ReadonlyMap<string, LogStream | undefined> = new Map([
  ['All', undefined],
  ['Stdout', 'stdout'],
  ['Stderr', 'stderr'],
] as const);

/** Parses a query as kubelet does; `splitStreams` is the feature gate PodLogsQuerySplitStreams. Throws an `HttpError`. */
export function logQuery(query: URLSearchParams, splitStreams: boolean): LogQuery {
  const tail = query.get('tail') || query.get('tailLines');
  const tailLines = tail === 'all' ? undefined : wholeNumber(tail);
  const limitBytes = wholeNumber(query.get('limitBytes'));
  const seconds = wholeNumber(query.get('sinceSeconds'));
  const timeMs = time(query.get('sinceTime'));
  const isInvalid =
    (tailLines !== undefined && tailLines < 0) ||
    (limitBytes !== undefined && limitBytes < 1) ||
    (seconds !== undefined && (seconds < 1 || timeMs !== undefined));
  if (isInvalid) throw invalid();
  return {
    follow: flag(query.get('follow')),
    previous: flag(query.get('previous')),
    timestamps: flag(query.get('timestamps')),
    tailLines,
    limitBytes,
    since: seconds !== undefined ? { seconds } : timeMs === undefined ? undefined : { timeMs },
    stream: parseStream(query.get('stream'), splitStreams, tailLines),
  };
}

function parseStream(
  asked: string | null,
  splitStreams: boolean,
  tailLines: number | undefined,
): LogStream | undefined {
  if (asked === null) return undefined;
  const stream = STREAMS.get(asked);
  if (!STREAMS.has(asked) || (stream !== undefined && tailLines !== undefined)) throw invalid();
  if (stream === undefined || splitStreams) return stream;
  const why = 'Please enable PodLogsQuerySplitStreams feature gate in kubelet';
  throw new HttpError(400, `unable to return the given log stream: ${JSON.stringify(asked)}. ${why}`);
}

/** As Go's conversion of query parameters: every other value is true. */
function flag(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0';
}

function wholeNumber(value: string | null): number | undefined {
  if (value === null || value === '') return undefined;
  if (!/^[+-]?\d+$/.test(value)) throw undecodable();
  return Number(value);
}

function time(value: string | null): number | undefined {
  if (value === null || value === '') return undefined;
  try {
    return parseTime(value);
  } catch (error) {
    throw error instanceof TimeError ? undecodable() : error;
  }
}

function undecodable(): HttpError {
  return new HttpError(400, '{"message": "Unable to decode query."}');
}

function invalid(): HttpError {
  return new HttpError(422, '{"message": "Invalid request."}');
}
