import assert from 'node:assert/strict';
import test from 'node:test';
import { matchesRegistry, parseRegistryPattern } from './registry-pattern.ts';

// The results of Go’s path.Match.
const globs: readonly (readonly [glob: string, text: string, fits: boolean])[] = [
  ['[a-c]x', 'bx', true],
  ['[^a]', 'b', true],
  ['[a', 'a', false],
  ['a\\*', 'a*', true],
  ['a*c', 'abbc', true],
  ['[c-a]', 'b', false],
  ['?', 'é', true],
  ['a', 'A', false],
  ['[^c-a]', 'b', true],
  ['[\\w]', 'w', true],
  ['[\\w]', 'x', false],
  ['[\\-a]', '-', true],
  ['[-a]', 'a', false],
  ['[a-]', 'a', false],
  ['[]a]', 'a', false],
  ['[^]', 'a', false],
  ['*', '', true],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'a-c-b', false],
  ['**', 'a', true],
  // Exponential with a regular expression.
  [`${'*a'.repeat(30)}b`, 'a'.repeat(63), false],
];

for (const [glob, text, fits] of globs) {
  test(`matchesRegistry() ${fits ? 'matches' : 'does not match'} ${glob} with ${text}`, () => {
    const of = (part: string) => ({ hostParts: [part], port: '', path: '' });
    assert.equal(matchesRegistry(of(glob), of(text)), fits);
  });
}

const faults: Record<string, string> = {
  'foo.bar:abc': 'parse "https://foo.bar:abc": invalid port ":abc" after host',
  '[a.io': 'parse "https://[a.io": missing \']\' in host',
  '[a-b].io': 'parse "https://[a-b].io": invalid port ".io" after host',
  'a b': 'parse "https://a b": invalid character " " in host name',
  'foo:80/p%zz': 'parse "https://foo:80/p%zz": invalid URL escape "%zz"',
  'a%20b/x': 'parse "https://a%20b/x": invalid URL escape "%20"',
  'foo\n': 'parse "https://foo\\n": net/url: invalid control character in URL',
};

for (const [text, message] of Object.entries(faults)) {
  test(`parseRegistryPattern() rejects ${JSON.stringify(text)} with Go’s message`, () => {
    assert.throws(() => parseRegistryPattern(text), { name: 'RegistryPatternError', message });
  });
}
