import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_BYTES, LogEntryParser } from './log-entries.ts';

const TIME = '2026-11-15T10:00:00.123456789Z';

interface Shown {
  readonly time: string;
  readonly stream: string;
  readonly text: string;
  readonly partial: boolean;
}

function parse(...pieces: readonly (string | Uint8Array)[]): Shown[] {
  const parser = new LogEntryParser();
  const entries = [...pieces.flatMap((piece) => parser.add(Buffer.from(piece as string))), ...parser.end()]; // either
  return entries.map((entry) => ({ ...entry, text: Buffer.from(entry.text).toString('latin1') }));
}

const cases: Record<string, { raw: string; entry: Shown | undefined }> = {
  'a whole line': {
    raw: `${TIME} stdout F hello world`,
    entry: { time: TIME, stream: 'stdout', text: 'hello world', partial: false },
  },
  'a part of a line': {
    raw: `${TIME} stderr P hello`,
    entry: { time: TIME, stream: 'stderr', text: 'hello', partial: true },
  },
  'tags behind the first': {
    raw: `${TIME} stdout F:tag:other hello`,
    entry: { time: TIME, stream: 'stdout', text: 'hello', partial: false },
  },
  'an unknown tag': {
    raw: `${TIME} stdout X hello`,
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
  'no such month': { raw: '2026-13-15T10:00:00Z stdout F x', entry: undefined },
  'no tag': { raw: `${TIME} stdout`, entry: undefined },
  'no space behind the tag': { raw: `${TIME} stdout F`, entry: undefined },
  nothing: { raw: '', entry: undefined },
  'zeros that a crash left': { raw: '\0\0\0\0', entry: undefined },
};

for (const [name, { raw, entry }] of Object.entries(cases)) {
  test(`LogEntryParser reads ${name}, with and without a line feed, in any chunks`, () => {
    const expected = entry ? [entry] : [];
    assert.deepEqual(parse(`${raw}\n`), expected);
    assert.deepEqual(parse(raw), expected);
    assert.deepEqual(parse(...`${raw}\n`), expected);
  });
}

test('LogEntryParser keeps bytes that are not text', () => {
  const bytes = Buffer.concat([Buffer.from(`${TIME} stdout F `), Uint8Array.of(0xff, 0x00, 0xc3), Buffer.from('\n')]);
  assert.deepEqual(
    parse(bytes).map(({ text }) => text),
    ['\xff\x00\xc3'],
  );
});

test('LogEntryParser continues after an invalid line', () => {
  assert.deepEqual(
    parse(`${TIME} stdout F torn${TIME} std`, `\ngarbage\n${TIME} stdout F whole\n`).map(({ text }) => text),
    [`torn${TIME} std`, 'whole'],
  );
});

test('LogEntryParser returns a long line in parts, and skips a long invalid one', () => {
  const block = 'x'.repeat(BLOCK_BYTES);
  const long = parse(`${TIME} stdout F `, block, block, 'end\n', `${TIME} stderr P next\n`);
  assert.deepEqual(
    long.map(({ text, partial, stream }) => [text.length, partial, stream]),
    [
      [BLOCK_BYTES, true, 'stdout'],
      [BLOCK_BYTES, true, 'stdout'],
      [3, false, 'stdout'],
      [4, true, 'stderr'],
    ],
  );
  assert.deepEqual(
    parse('broken ', block, block, `${TIME} stdout F still broken\n${TIME} stdout F whole\n`).map(({ text }) => text),
    ['whole'],
  );
});
