import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProcStat, parseProcStat } from './proc-stat.ts';

/** All fields behind the name: state, then 4 to 21, the start time, and some more. */
const after = (state: string, startTime: string): string =>
  `${state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 ${startTime} 20 21`;

const texts: Record<string, { text: string; stat: ProcStat | undefined }> = {
  'reads state, group and start time': {
    text: `42 (sleep) ${after('S', '123456')}\n`,
    stat: { state: 'S', group: 2, startTime: 123_456 },
  },
  'reads a name with spaces and parentheses': {
    text: `42 (a) Z (b c) ${after('R', '7')}\n`,
    stat: { state: 'R', group: 2, startTime: 7 },
  },
  'reads a zombie': { text: `42 (gone) ${after('Z', '7')}\n`, stat: { state: 'Z', group: 2, startTime: 7 } },
  'rejects an empty text': { text: '', stat: undefined },
  'rejects a truncated line': { text: '42 (sleep) S 1 2', stat: undefined },
};

for (const [name, { text, stat }] of Object.entries(texts)) {
  test(`parseProcStat() ${name}`, () => {
    assert.deepEqual(parseProcStat(text), stat);
  });
}
