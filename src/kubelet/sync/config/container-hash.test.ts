import assert from 'node:assert/strict';
import test from 'node:test';
import { goJson } from '../../../base/go/go-json.ts';
import { goQuote } from '../../../base/go/go-quote.ts';
import { containerHash } from './container-hash.ts';

const hashes: Record<string, { name: string; image: string; hash: string }> = {
  'of a usual container': { name: 'main', image: 'busybox', hash: 'b34e1a14' },
  'of another name': { name: 'side', image: 'busybox', hash: 'fcffdbfc' },
  'of another image': { name: 'main', image: 'busybox:latest', hash: '582b8eef' },
};

for (const [what, { hash, ...container }] of Object.entries(hashes)) {
  test(`containerHash() ${what} is kubelet's`, () => {
    assert.equal(containerHash(container), hash);
  });
}

test('goJson() escapes what Go escapes', () => {
  assert.equal(
    goJson({ a: '<b>&\u2028\u2029"\n', c: undefined }),
    '{"a":"\\u003cb\\u003e\\u0026\\u2028\\u2029\\"\\n"}',
  );
});

test('goQuote() escapes only what cannot be printed', () => {
  assert.equal(
    goQuote('é"\\\n\t\u0007\u0001\u007f\u00a0😀\u{e0001}'),
    '"é\\"\\\\\\n\\t\\a\\x01\\x7f\\u00a0😀\\U000e0001"',
  );
});
