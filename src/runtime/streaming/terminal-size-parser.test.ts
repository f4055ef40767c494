import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TerminalSizeParser } from './terminal-size-parser.ts';

const rows: Record<string, [texts: readonly string[], sizes: ReadonlyArray<readonly [number, number]>]> = {
  'a size': [['{"Width":80,"Height":24}'], [[80, 24]]],
  'as kubectl ends it': [
    ['{"Width":80,"Height":24}\n', '{"Width":81,"Height":24}\n'],
    [
      [80, 24],
      [81, 24],
    ],
  ],
  'two at once': [
    ['{"Width":80,"Height":24}{"Height":25,"Width":80}'],
    [
      [80, 24],
      [80, 25],
    ],
  ],
  'one cut in two': [['{"Width":8', '0,"Height":24}'], [[80, 24]]],
  'names as Go takes them': [['{"width":80,"HEIGHT":24,"X":1}'], [[80, 24]]],
  'a size of nothing, which is none': [['{"Width":0,"Height":24}', '{}', '{"Width":80,"Height":24}'], [[80, 24]]],
  'nothing after what is no JSON': [['wide}', '{"Width":80,"Height":24}'], []],
  'nothing after a side that is too long': [['{"Width":65536,"Height":24}', '{"Width":80,"Height":24}'], []],
  'nothing after a side that is no number': [['{"Width":"80","Height":24}', '{"Width":80,"Height":24}'], []],
  'nothing after what does not end': [[' '.repeat(2000), '{"Width":80,"Height":24}'], []],
};

for (const [name, [texts, expected]] of Object.entries(rows)) {
  test(`TerminalSizes reads ${name}`, () => {
    const sizes = new TerminalSizeParser();
    const read = texts.flatMap((text) => sizes.push(Buffer.from(text)));
    assert.deepEqual(
      read.map(({ width, height }) => [width, height]),
      expected,
    );
  });
}

test('TerminalSizes takes whatever comes', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
      ),
      (chunks) => {
        const sizes = new TerminalSizeParser();
        for (const { width, height } of chunks.flatMap((chunk) => sizes.push(chunk))) {
          assert.ok(width > 0 && width < 65_536 && height > 0 && height < 65_536);
        }
      },
    ),
  );
});
