import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPathPattern, pathMatches } from './path-match.ts';

// The results of Go's path.Match; `undefined`: path.ErrBadPattern.
const cases: readonly (readonly [pattern: string, text: string, matches: boolean | undefined])[] = [
  ['example.com/a', 'example.com/a', true],
  ['example.com/a', 'example.com/ab', false],
  ['example.com/*', 'example.com/a.b-c', true],
  ['example.com/*', 'example.com/', true],
  ['example.com/*', 'example.org/a', false],
  ['*', 'plain', true],
  ['*', 'example.com/a', false],
  ['*/*', 'example.com/a', true],
  ['io.katacontainers.*', 'io.katacontainers.config.hypervisor.default_vcpus', true],
  ['io.katacontainers.*', 'io.katacontainers', false],
  ['example.com/?', 'example.com/a', true],
  ['example.com?a', 'example.com/a', false],
  ['[a-c]x', 'bx', true],
  ['[^a-c]x', 'bx', false],
  ['a\\*', 'a*', true],
  ['a\\*', 'ab', false],
  ['[a', 'a', undefined],
  ['[]a]', 'a', undefined],
  ['[-a]', 'a', undefined],
  ['a\\', 'a', undefined],
];

for (const [pattern, text, matches] of cases) {
  test(`pathMatches() of ${pattern} with ${text}: ${matches ?? 'malformed'}`, () => {
    assert.equal(isPathPattern(pattern), matches !== undefined);
    assert.equal(pathMatches(pattern, text), matches ?? false);
  });
}
