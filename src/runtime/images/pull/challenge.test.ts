import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Challenge, parseChallenge } from './challenge.ts';

const CASES: Record<string, Challenge | undefined> = {
  'Basic realm="Registry"': { scheme: 'basic' },
  'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/busybox:pull"': {
    scheme: 'bearer',
    realm: 'https://auth.docker.io/token',
    service: 'registry.docker.io',
    scope: 'repository:library/busybox:pull',
  },
  'bearer realm="https://a/t"': { scheme: 'bearer', realm: 'https://a/t', service: undefined, scope: undefined },
  'Bearer realm="https://a/t", service="with \\"quotes\\", and commas"': {
    scheme: 'bearer',
    realm: 'https://a/t',
    service: 'with "quotes", and commas',
    scope: undefined,
  },
  'Negotiate, Basic realm="x"': { scheme: 'basic' },
  'Negotiate YWJj==, Bearer realm=https://a/t , service=s': {
    scheme: 'bearer',
    realm: 'https://a/t',
    service: 's',
    scope: undefined,
  },
  'Digest realm="r", nonce="n", basic': { scheme: 'basic' },
  'Bearer realm="not ended': undefined,
  Negotiate: undefined,
  'Bearer service="no realm"': undefined,
  '': undefined,
};

for (const [header, challenge] of Object.entries(CASES)) {
  test(`parseChallenge() reads ${header || 'nothing'}`, () => assert.deepEqual(parseChallenge(header), challenge));
}
