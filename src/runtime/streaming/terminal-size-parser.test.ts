import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TerminalSizeParser } from './terminal-size-parser.ts';

const rows: Record<string, [texts: readonly string[], sizes: ReadonlyArray<readonly [number, number]>]> = {
  'a size': [['{"Width":80,"Height":24}'], [[80, 24]]],
  'sizes with newlines, as kubectl sends them': [
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
  'a size in two chunks': [['{"Width":8', '0,"Height":24}'], [[80, 24]]],
  'names in any case, as in Go': [['{"width":80,"HEIGHT":24,"X":1}'], [[80, 24]]],
  'no size with a side of 0': [['{"Width":0,"Height":24}', '{}', '{"Width":80,"Height":24}'], [[80, 24]]],
  'nothing after invalid JSON': [['wide}', '{"Width":80,"Height":24}'], []],
  'nothing after a side that is too large': [['{"Width":65536,"Height":24}', '{"Width":80,"Height":24}'], []],
  'nothing after a side that is not a number': [['{"Width":"80","Height":24}', '{"Width":80,"Height":24}'], []],
  'nothing after a text that is too long': [[' '.repeat(2000), '{"Width":80,"Height":24}'], []],
};

for (const [name, [texts, expected]] of Object.entries(rows)) {
  test(`TerminalSizeParser reads ${name}`, () => {
    const sizes = new TerminalSizeParser();
    const read = texts.flatMap((text) => sizes.push(Buffer.from(text)));
    assert.deepEqual(
      read.map(({ width, height }) => [width, height]),
      expected,
    );
  });
}

test('TerminalSizeParser accepts any input', () => {
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
