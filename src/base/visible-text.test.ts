import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VisibleBytes, visibleText } from './visible-text.ts';

const cases: Record<string, { text: string; shown: string }> = {
  'plain text, tabs and line ends stay': { text: 'a\tb\r\nc\nü 雛 ✓\n', shown: 'a\tb\r\nc\nü 雛 ✓\n' },
  'a colour': { text: '\u001b[31mred\u001b[0m', shown: '^[[31mred^[[0m' },
  'a title': { text: '\u001b]0;mine\u0007', shown: '^[]0;mine^G' },
  'a line that is written over': { text: 'one\rtwo\u0008', shown: 'one^Mtwo^H' },
  'controls of 8 bits': { text: '\u009b31m\u007f', shown: '\\u009b31m\\u007f' },
};

for (const [name, { text, shown }] of Object.entries(cases)) {
  test(`visible text: ${name}`, () => {
    assert.equal(visibleText(text), shown);
    for (const size of [1, 2, 3, 100]) assert.equal(inChunks(Buffer.from(text), size), shown, `chunks of ${size}`);
  });
}

test('visible text keeps a JSON document what it is', () => {
  const value = { message: 'a\u001b[2J\u009b\u007f\n' };
  assert.deepEqual(JSON.parse(visibleText(JSON.stringify(value))), value);
});

test('bytes that are no UTF-8 are shown as such, also at the end', () => {
  assert.equal(inChunks(Uint8Array.of(0x9b, 0x41), 1), '\ufffdA');
  assert.equal(inChunks(Uint8Array.of(0x41, 0xe9, 0x9b), 1), 'A\ufffd');
  assert.equal(inChunks(Uint8Array.of(0x41, 0x0d), 1), 'A^M');
});

function inChunks(bytes: Uint8Array, size: number): string {
  const visible = new VisibleBytes();
  let text = '';
  for (let at = 0; at < bytes.length; at += size) text += visible.next(bytes.subarray(at, at + size));
  return text + visible.end();
}
