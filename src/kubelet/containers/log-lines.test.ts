import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type LogEntry,
  type LogLine,
  LogLineJoiner,
  logTimeMs,
  MAX_LINE_CHARACTERS,
  parseLogEntry,
} from './log-lines.ts';

const TIME = '2026-11-15T10:00:00.123456789Z';

const entries: Record<string, { raw: string; entry: LogEntry | undefined }> = {
  'a whole line': {
    raw: `${TIME} stdout F hello world`,
    entry: { time: TIME, stream: 'stdout', text: 'hello world', partial: false },
  },
  'a piece of a line': {
    raw: `${TIME} stderr P hello`,
    entry: { time: TIME, stream: 'stderr', text: 'hello', partial: true },
  },
  'tags behind the first': {
    raw: `${TIME} stdout F:tag:other hello`,
    entry: { time: TIME, stream: 'stdout', text: 'hello', partial: false },
  },
  'an empty line': { raw: `${TIME} stdout F `, entry: { time: TIME, stream: 'stdout', text: '', partial: false } },
  'leading spaces of the text': {
    raw: `${TIME} stdout F   indented `,
    entry: { time: TIME, stream: 'stdout', text: '  indented ', partial: false },
  },
  'a time with an offset': {
    raw: '2026-11-15T11:00:00.5+01:00 stdout F x',
    entry: { time: '2026-11-15T11:00:00.5+01:00', stream: 'stdout', text: 'x', partial: false },
  },
  'no such stream': { raw: `${TIME} stdin F x`, entry: undefined },
  'no time': { raw: 'yesterday stdout F x', entry: undefined },
  'no tag': { raw: `${TIME} stdout`, entry: undefined },
  nothing: { raw: '', entry: undefined },
  'zeros that a crash left': { raw: '\0\0\0\0', entry: undefined },
};

for (const [name, { raw, entry }] of Object.entries(entries)) {
  test(`parseLogEntry() reads ${name}`, () => {
    assert.deepEqual(parseLogEntry(raw), entry);
  });
}

test('logTimeMs() is in milliseconds since 1970', () => {
  assert.equal(logTimeMs({ time: '1970-01-01T00:00:01.5Z', stream: 'stdout', text: '' }), 1500);
});

function join(entries: readonly LogEntry[]): LogLine[] {
  const joiner = new LogLineJoiner();
  const lines = entries.map((entry) => joiner.add(entry)).filter((line) => line !== undefined);
  return [...lines, ...joiner.rest()];
}

test('LogLineJoiner joins the pieces of each stream by itself, and keeps the time of the first', () => {
  const piece = { time: '2026-11-15T10:00:00Z', stream: 'stdout', partial: true } as const;
  const later = { time: '2026-11-15T10:00:01Z', partial: false } as const;
  assert.deepEqual(
    join([
      { ...piece, text: 'one ' },
      { ...later, stream: 'stderr', text: 'error' },
      { ...piece, text: 'two ' },
      { ...later, stream: 'stdout', text: 'three' },
      { ...piece, text: 'open' },
    ]),
    [
      { time: later.time, stream: 'stderr', text: 'error' },
      { time: piece.time, stream: 'stdout', text: 'one two three' },
      { time: piece.time, stream: 'stdout', text: 'open' },
    ],
  );
});

test('LogLineJoiner tells an endless line in pieces', () => {
  const half = { time: TIME, stream: 'stdout', partial: true, text: 'x'.repeat(MAX_LINE_CHARACTERS / 2) } as const;
  assert.deepEqual(
    join([half, half, half]).map((line) => line.text.length),
    [MAX_LINE_CHARACTERS, MAX_LINE_CHARACTERS / 2],
  );
});
