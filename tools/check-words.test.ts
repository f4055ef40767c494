import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retiredWords } from './check-words.ts';

const cases: Record<string, { path?: string; text: string; errors: string[] }> = {
  'accepts plain words': { text: '/** Rejects pods that request more than the node has. */\n', errors: [] },
  'finds a word in a comment': {
    text: 'const a = 1;\n// the caller is told\n',
    errors: ['src/a.ts:2: "told": write report, log, notify, return'],
  },
  'finds a word in an identifier': {
    text: 'const sandboxTrouble = 1;\n',
    errors: ['src/a.ts:1: "trouble": write error'],
  },
  'finds a phrase': {
    text: '// differs: another than before\n',
    errors: ['src/a.ts:1: "another than": write differs from'],
  },
  'does not find a word inside another one': { text: 'const defaults = { intellect: 1 };\n', errors: [] },
  'lets tests and the simulator inject faults': { path: 'test/sim/a.ts', text: 'const faults = [];\n', errors: [] },
  'lets no other code have faults': {
    text: 'const faults = [];\n',
    errors: ['src/a.ts:1: "faults": write error'],
  },
  'accepts a quotation': { text: "const text = 'nobody'; // words: quoted\n", errors: [] },
  'reports a word once a line': {
    text: '// told, told\n',
    errors: ['src/a.ts:1: "told": write report, log, notify, return'],
  },
};

for (const [name, { path = 'src/a.ts', text, errors }] of Object.entries(cases)) {
  test(`retiredWords() ${name}`, () => {
    assert.deepEqual(retiredWords(path, text), errors);
  });
}
