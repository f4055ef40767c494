import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patternError } from './pattern-error.ts';

/** Recorded from Go's regexp/syntax. */
const CASES: Readonly<Record<string, string | undefined>> = {
  '': undefined,
  'a.*b|c+?': undefined,
  '(a(?:b)|(?P<n>c)(?i)d)': undefined,
  '[]a-z[:alpha:]\\]]': undefined,
  '\\d\\pL\\x{10FFFF}\\Q': undefined,
  'a{2,3}?': undefined,
  'a{x}': undefined,
  '(': 'missing closing ): `(`',
  'a)': 'unexpected ): `a)`',
  'a[': 'missing closing ]: `[`',
  '[]': 'missing closing ]: `[]`',
  '*': 'missing argument to repetition operator: `*`',
  'a|*': 'missing argument to repetition operator: `*`',
  'a**': 'invalid nested repetition operator: `**`',
  '(?=a)': 'invalid or unsupported Perl syntax: `(?=`',
  '(?<!a)': 'invalid named capture: `(?<!a)`',
  'a\\': 'trailing backslash at end of expression: ``',
  '\\y': 'invalid escape sequence: `\\y`',
};

for (const [pattern, expected] of Object.entries(CASES)) {
  test(`patternError(): ${JSON.stringify(pattern)} ${expected ?? 'is valid'}`, () => {
    assert.equal(patternError(pattern), expected && `error parsing regexp: ${expected}`);
  });
}

test('patternError() takes a time that grows with the pattern only', () => {
  assert.equal(patternError('(a+)+'.repeat(20_000)), undefined);
  assert.match(patternError('('.repeat(100_000)) ?? '', /missing closing \)/);
});
