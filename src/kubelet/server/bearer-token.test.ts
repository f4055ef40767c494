import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearerToken, withoutToken } from './bearer-token.ts';

const AS_PROTOCOL = `base64url.bearer.authorization.k8s.io.${Buffer.from('secret').toString('base64url')}`;

for (const [what, headers, token] of [
  ['a header', { authorization: 'Bearer secret' }, 'secret'],
  ['a header in another spelling', { authorization: 'bearer secret' }, 'secret'],
  ['a header without a token', { authorization: 'Bearer ' }, undefined],
  ['a header of another kind', { authorization: 'Basic secret' }, undefined],
  ['a protocol', { 'sec-websocket-protocol': `v5.channel.k8s.io, ${AS_PROTOCOL}` }, 'secret'],
  ['a protocol, and no other that could be spoken', { 'sec-websocket-protocol': AS_PROTOCOL }, undefined],
  ['no token', { 'sec-websocket-protocol': 'v5.channel.k8s.io' }, undefined],
  ['nothing', {}, undefined],
] as const) {
  test(`bearerToken(): ${what}`, () => assert.equal(bearerToken(headers), token));
}

test('withoutToken(): leaves everything else', () => {
  const headers = { authorization: 'Bearer a', 'sec-websocket-protocol': `v5, ${AS_PROTOCOL}, v4`, accept: '*/*' };
  assert.deepEqual(withoutToken(headers), { 'sec-websocket-protocol': 'v5, v4', accept: '*/*' });
  assert.deepEqual(withoutToken({ accept: '*/*' }), { accept: '*/*' });
});
