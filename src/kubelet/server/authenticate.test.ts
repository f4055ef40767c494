import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenReviewStatus } from '../../api/generated/core-v1.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import type { TlsClient } from '../../host/tls-server.ts';
import { type AuthenticationSettings, createAuthenticate } from './authenticate.ts';

const NO_CLIENT: TlsClient = { kind: 'none' };
const ADMIN: TlsClient = { kind: 'known', commonName: 'admin', organizations: ['ops'], fingerprint: 'ab12' };
const WEBHOOK: AuthenticationSettings = { anonymous: false, webhookCacheTtlMs: 120_000 };
const never = new AbortController().signal;

function setUp(
  settings: Partial<AuthenticationSettings> = {},
  answers: Readonly<Record<string, TokenReviewStatus>> = {},
) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const reviewToken = async ({ token }: { readonly token: string }): Promise<TokenReviewStatus> => {
    asked.push(token);
    const answer = answers[token];
    if (!answer) throw new Error('the API server is away');
    return answer;
  };
  const deps = { clock, deadline: () => never, reviews: { reviewToken } };
  const authenticate = createAuthenticate({ ...WEBHOOK, ...settings }, deps);
  const by = (client: TlsClient, authorization?: string) =>
    authenticate({ client, headers: authorization === undefined ? {} : { authorization } });
  return { clock, asked, by };
}

const JANE: TokenReviewStatus = { authenticated: true, user: { username: 'jane', uid: '7', groups: ['dev'] } };

test('a certificate names its user and his groups', async () => {
  const { by, asked } = setUp();
  assert.deepEqual(await by(ADMIN, 'Bearer t'), {
    name: 'admin',
    groups: ['ops', 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab12'] },
  });
  assert.deepEqual(asked, []);
});

test('the API server reviews a token, and its answer is cached for a while', async () => {
  const { by, clock, asked } = setUp({}, { t: JANE, no: { authenticated: false } });
  const jane = { name: 'jane', uid: '7', groups: ['dev', 'system:authenticated'], extra: undefined };
  assert.deepEqual(await Promise.all([by(NO_CLIENT, 'Bearer t'), by(NO_CLIENT, 'bearer t')]), [jane, jane]);
  await assert.rejects(by(NO_CLIENT, 'Bearer no'), /invalid bearer token/);
  await assert.rejects(by(NO_CLIENT, 'Bearer no'), /invalid bearer token/);
  assert.deepEqual(asked, ['t', 'no']);
  await clock.advance(120_000);
  assert.deepEqual(await by(NO_CLIENT, 'Bearer t'), jane);
  assert.deepEqual(asked, ['t', 'no', 't']);
});

test('a failure to ask is not remembered', async () => {
  const { by, asked } = setUp();
  await assert.rejects(by(NO_CLIENT, 'Bearer t'), /away/);
  await assert.rejects(by(NO_CLIENT, 'Bearer t'), /away/);
  assert.equal(asked.length, 2);
});

test('a request without credentials is unknown, or anonymous where that is allowed', async () => {
  assert.equal(await setUp().by(NO_CLIENT), undefined);
  assert.deepEqual(await setUp({ anonymous: true }).by(NO_CLIENT), {
    name: 'system:anonymous',
    groups: ['system:unauthenticated'],
  });
});

test('a request with invalid credentials is not anonymous', async () => {
  const { by } = setUp({ anonymous: true }, { t: JANE, no: { authenticated: false } });
  const stranger: TlsClient = { kind: 'untrusted', reason: 'CERT_HAS_EXPIRED' };
  await assert.rejects(by(stranger), /CERT_HAS_EXPIRED/);
  await assert.rejects(by(NO_CLIENT, 'Bearer no'), /invalid bearer token/);
  assert.equal((await by(stranger, 'Bearer t'))?.name, 'jane');
});

test('without the webhook tokens are ignored', async () => {
  const { by, asked } = setUp({ webhookCacheTtlMs: undefined, anonymous: true }, { t: JANE });
  assert.equal((await by(NO_CLIENT, 'Bearer t'))?.name, 'system:anonymous');
  assert.deepEqual(asked, []);
});
