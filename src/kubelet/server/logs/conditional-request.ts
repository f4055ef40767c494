import { parseHttpDate } from './http-date.ts';

type Headers = Readonly<Record<string, string>>;

/** What a request for a file gets, by its conditions. */
export type Condition =
  | { readonly kind: 'notModified' | 'failed' }
  /** `range`: the `Range` header that applies; empty for the whole file. */
  | { readonly kind: 'content'; readonly range: string };

/** RFC 9110, for files without an entity tag, in the order in which Go's file server checks. */
export function conditionOf(headers: Headers, modifiedMs: number): Condition {
  const match = headers['if-match'];
  if (
    match !== undefined
      ? !match
          .trimStart()
          .replace(/^[,\s]+/, '')
          .startsWith('*')
      : isModifiedAfter(headers, modifiedMs)
  ) {
    return { kind: 'failed' };
  }
  const noneMatch = headers['if-none-match'];
  if (noneMatch === undefined ? isNotModifiedSince(headers, modifiedMs) : noneMatch.trim().startsWith('*')) {
    return { kind: 'notModified' };
  }
  const range = headers['range'] ?? '';
  const ifRange = headers['if-range'];
  if (range === '' || ifRange === undefined) return { kind: 'content', range };
  return { kind: 'content', range: seconds(parseHttpDate(ifRange)) === seconds(modifiedMs) ? range : '' };
}

/** Whether the client has the current content, by the time of its copy. */
export function isNotModifiedSince(headers: Headers, modifiedMs: number): boolean {
  const since = parseHttpDate(headers['if-modified-since'] ?? '');
  return since !== undefined && (seconds(modifiedMs) ?? 0) <= (seconds(since) ?? 0);
}

function isModifiedAfter(headers: Headers, modifiedMs: number): boolean {
  const since = parseHttpDate(headers['if-unmodified-since'] ?? '');
  return since !== undefined && (seconds(modifiedMs) ?? 0) > (seconds(since) ?? 0);
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.floor(ms / 1000);
}

export type ByteRange =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly start: number; readonly length: number }
  /** `isBeyond`: it starts after the end of the file. */
  | { readonly kind: 'invalid'; readonly isBeyond: boolean };

const INVALID: ByteRange = { kind: 'invalid', isBeyond: false };

/** The part of a file of this size that a `Range` header names. Several parts: the whole file, which a server may send. */
export function byteRange(header: string, size: number): ByteRange {
  if (header === '') return { kind: 'whole' };
  if (!header.startsWith('bytes=')) return INVALID;
  const parts: ByteRange[] = [];
  let isBeyond = false;
  for (const text of header.slice('bytes='.length).split(',')) {
    if (text.trim() === '') continue;
    const part = rangePart(text.trim(), size);
    if (part.kind === 'invalid' && !part.isBeyond) return INVALID;
    if (part.kind === 'invalid') isBeyond = true;
    else parts.push(part);
  }
  const [first, ...more] = parts;
  if (first && more.length === 0) return first;
  return first || !isBeyond || size === 0 ? { kind: 'whole' } : { kind: 'invalid', isBeyond: true };
}

function rangePart(text: string, size: number): ByteRange {
  const match = /^(\d*)\s*-\s*(\d*)$/.exec(text);
  const [, from = '', to = ''] = match ?? [];
  if (!match || (from === '' && to === '')) return INVALID;
  if (from === '') {
    const length = Math.min(Number(to), size);
    return { kind: 'part', start: size - length, length };
  }
  const start = Number(from);
  if (start >= size) return { kind: 'invalid', isBeyond: true };
  if (to !== '' && Number(to) < start) return INVALID;
  const end = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return { kind: 'part', start, length: end - start + 1 };
}
