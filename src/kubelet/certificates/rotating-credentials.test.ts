import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Identity } from '../api-client/credentials.ts';
import { rotatingCredentials } from './rotating-credentials.ts';
import type { KeyPair } from './serving-certificate.ts';

const never = new AbortController().signal;

test('the identity is the same object until the certificate or the authority changes', async () => {
  let trusted: Identity = { authorization: undefined, tls: { authorities: ['one'] } };
  let pair: KeyPair | undefined;
  const credentials = rotatingCredentials(
    { current: async () => trusted, onUnauthorized() {} },
    { current: () => pair },
  );
  const anonymous = await credentials.current(never);
  assert.deepEqual(anonymous, trusted);
  assert.equal(await credentials.current(never), anonymous);
  pair = { certificate: 'c', key: 'k' };
  const authenticated = await credentials.current(never);
  assert.deepEqual(authenticated.tls, { authorities: ['one'], clientCertificates: [pair] });
  assert.equal(await credentials.current(never), authenticated);
  trusted = { authorization: undefined, tls: { authorities: ['two'] } };
  assert.deepEqual((await credentials.current(never)).tls, { authorities: ['two'], clientCertificates: [pair] });
  pair = undefined;
  assert.deepEqual((await credentials.current(never)).tls, { authorities: ['two'] });
});
