import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthConfig } from '../../../cri/generated/runtime-v1.ts';
import { type Credentials, credentialsFor } from './credentials.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const password = { kind: 'password', username: 'me', password: 'secret' } as const;
const login = { username: 'me', password: 'secret' };

const CASES: Record<string, { readonly auth?: Partial<AuthConfig>; readonly expected: Credentials }> = {
  'nothing without credentials': { expected: { kind: 'none' } },
  'nothing from an empty message': { auth: {}, expected: { kind: 'none' } },
  'a name and a password': { auth: login, expected: password },
  'both together in base64': { auth: { auth: base64('me:secret') }, expected: password },
  'both padded with zero bytes': { auth: { auth: base64('me:secret\0\0') }, expected: password },
  'a name before a token': { auth: { ...login, identityToken: 'i', registryToken: 'r' }, expected: password },
  'an identity token before base64': {
    auth: { identityToken: 'i', auth: base64('me:secret') },
    expected: { kind: 'identity', token: 'i' },
  },
  'a registry token': { auth: { registryToken: 'r' }, expected: { kind: 'token', token: 'r' } },
  'credentials for this server': { auth: { ...login, serverAddress: 'https://x.io/v1/' }, expected: password },
  'credentials for this server, without a scheme': { auth: { ...login, serverAddress: 'x.io' }, expected: password },
  'nothing that is meant for another server': {
    auth: { ...login, serverAddress: 'https://y.io' },
    expected: { kind: 'none' },
  },
};

for (const [what, { auth, expected }] of Object.entries(CASES)) {
  test(`credentialsFor() returns ${what}`, () => {
    assert.deepEqual(credentialsFor(auth && AuthConfig.fromPartial(auth), 'x.io'), expected);
  });
}

for (const auth of ['%%%', base64('no colon')]) {
  test(`credentialsFor() rejects ${auth}`, () => {
    assert.throws(() => credentialsFor(AuthConfig.fromPartial({ auth }), 'x.io'), {
      code: 'InvalidArgument',
      message: 'auth.auth: is not a user name and password in base64',
    });
  });
}
