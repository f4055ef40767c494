import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogEntry } from './log-entries.ts';
import { LogLineJoiner, logTimeMs, MAX_LINE_BYTES } from './log-lines.ts';
import { formatLogTime, logText } from './log-text.ts';

test('logTimeMs() is in milliseconds since 1970', () => {
  assert.equal(logTimeMs({ time: '1970-01-01T00:00:01.5Z' }), 1500);
});

const TIME = '2026-11-15T10:00:00Z';
const LATER = '2026-11-15T10:00:01.5Z';

type Written = readonly [time: string, stream: LogEntry['stream'], tag: 'P' | 'F', text: string];

async function shown(written: readonly Written[], timestamps = false): Promise<string> {
  const joiner = new LogLineJoiner();
  const lines = written.map(([time, stream, tag, text]) =>
    joiner.add({ time, stream, partial: tag === 'P', text: Buffer.from(text) }),
  );
  const all = [...lines.filter((line) => line !== undefined), ...joiner.rest()];
  const batches = (async function* () {
    yield all;
  })();
  return Buffer.concat(await Array.fromAsync(logText(batches, { timestamps }))).toString();
}

const cases: Record<string, { written: readonly Written[]; text: string }> = {
  'joins the parts of each stream separately, with the time of the first': {
    written: [
      [TIME, 'stdout', 'P', 'one '],
      [LATER, 'stderr', 'F', 'error'],
      [LATER, 'stdout', 'P', 'two '],
      [LATER, 'stdout', 'F', 'three'],
    ],
    text: '2026-11-15T10:00:01.500000000Z error\n2026-11-15T10:00:00.000000000Z one two three\n',
  },
  'ends without a line feed if the container wrote none': {
    written: [
      [TIME, 'stdout', 'F', 'one'],
      [TIME, 'stdout', 'P', 'password: '],
    ],
    text: '2026-11-15T10:00:00.000000000Z one\n2026-11-15T10:00:00.000000000Z password: ',
  },
};

for (const [name, { written, text }] of Object.entries(cases)) {
  test(`LogLineJoiner ${name}`, async () => {
    assert.equal(await shown(written, true), text);
  });
}

test('LogLineJoiner returns an endless line in parts, which format as one line', async () => {
  const half = 'x'.repeat(MAX_LINE_BYTES / 2);
  const entry = { time: TIME, stream: 'stdout', partial: true, text: Buffer.from(half) } as const;
  const joiner = new LogLineJoiner();
  const pieces = [entry, entry, entry, { ...entry, partial: false }].map((each) => joiner.add(each));
  assert.deepEqual(
    pieces.map((piece) => piece && [piece.begins, piece.ends, piece.text.length]),
    [undefined, [true, false, MAX_LINE_BYTES], undefined, [false, true, MAX_LINE_BYTES]],
  );
  const written = (['P', 'P', 'P', 'F'] as const).map((tag): Written => [TIME, 'stdout', tag, half]);
  assert.equal(await shown(written, true), `2026-11-15T10:00:00.000000000Z ${half.repeat(4)}\n`);
});

const times: Record<string, string> = {
  '2026-11-15T10:00:00Z': '2026-11-15T10:00:00.000000000Z',
  '2026-11-15T10:00:00.5+01:00': '2026-11-15T10:00:00.500000000+01:00',
  '2026-11-15T10:00:00.123456789+00:00': '2026-11-15T10:00:00.123456789Z',
};

for (const [time, text] of Object.entries(times)) {
  test(`shownTime() of ${time} has nine digits`, () => {
    assert.equal(formatLogTime(time), text);
  });
}
