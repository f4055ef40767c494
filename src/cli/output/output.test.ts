import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOutput } from './output.ts';

function setUp(isTerminal: boolean, env: Record<string, string> = {}) {
  const writes: (string | Uint8Array)[] = [];
  const output = createOutput({ isTerminal, env, write: async (text) => void writes.push(text) });
  return { output, writes };
}

const abilities: Record<string, [isTerminal: boolean, env: Record<string, string>, colours: boolean, redraw: boolean]> =
  {
    'a terminal': [true, { TERM: 'xterm' }, true, true],
    'a terminal of unknown kind': [true, {}, true, true],
    NO_COLOR: [true, { TERM: 'xterm', NO_COLOR: '1' }, false, true],
    'an empty NO_COLOR, which does not count': [true, { TERM: 'xterm', NO_COLOR: '' }, true, true],
    'a dumb terminal': [true, { TERM: 'dumb' }, false, false],
    'a pipe': [false, { TERM: 'xterm' }, false, false],
  };

for (const [name, [isTerminal, env, hasColours, canRedraw]] of Object.entries(abilities)) {
  test(`an output can do what it can: ${name}`, () => {
    const { output } = setUp(isTerminal, env);
    assert.deepEqual([output.hasColours, output.canRedraw], [hasColours, canRedraw]);
  });
}

test('a terminal shows control characters, and acts only on what is written raw', async () => {
  const { output, writes } = setUp(true);
  await output.write('a\u001b[2J\n');
  await output.write(Buffer.from('b\u001b]0;c\u0007\n'));
  await output.write(Buffer.from([0xe9, 0x9b])); // the beginning of a character
  await output.write('d\n');
  await output.writeRaw('\u001b[31m');
  assert.deepEqual(writes, ['a^[[2J\n', 'b^[]0;c^G\n', '', '\ufffdd\n', '\u001b[31m']);
});

test('a pipe gets the very bytes', async () => {
  const { output, writes } = setUp(false);
  const bytes = Uint8Array.of(0x1b, 0xff, 0x0d, 0x00);
  await output.write(bytes);
  await output.write('\u001b[2J');
  assert.deepEqual(writes, [bytes, '\u001b[2J']);
});
