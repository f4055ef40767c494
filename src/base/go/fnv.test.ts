import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fnv1a32, fnv1a64, fnv1a128 } from './fnv.ts';

// From the reference vectors of the algorithm's authors, and Go's hash/fnv for 128 bits.
const vectors: Record<string, { h32: number; h64: bigint; h128: bigint }> = {
  '': { h32: 0x811c9dc5, h64: 0xcbf29ce484222325n, h128: 0x6c62272e07bb014262b821756295c58dn },
  a: { h32: 0xe40c292c, h64: 0xaf63dc4c8601ec8cn, h128: 0xd228cb696f1a8caf78912b704e4a8964n },
  abc: { h32: 0x1a47e90b, h64: 0xe71fa2190541574bn, h128: 0xa68d622cec8b5822836dbc7977af7f3bn },
  foobar: { h32: 0xbf9cf968, h64: 0x85944171f73967e8n, h128: 0x343e1662793c64bf6f0d3597ba446f18n },
};

for (const [text, expected] of Object.entries(vectors)) {
  test(`fnv1a of ${JSON.stringify(text)}`, () => {
    assert.deepEqual({ h32: fnv1a32(text), h64: fnv1a64(text), h128: fnv1a128(text) }, expected);
  });
}

test('fnv1a32() hashes the UTF-8 of a text', () => {
  assert.equal(fnv1a32('é'), fnv1a32(Uint8Array.of(0xc3, 0xa9)));
});
