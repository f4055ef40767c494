import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSecureContext } from 'node:tls';
import { cipherList } from './cipher-suites.ts';

const TLS_1_3 = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256';

test('cipherList() always includes the suites of TLS 1.3, once', () => {
  const asked = ['TLS_AES_128_GCM_SHA256', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_RSA_WITH_AES_256_CBC_SHA'];
  const list = cipherList(asked);
  assert.equal(list, `${TLS_1_3}:ECDHE-RSA-AES128-GCM-SHA256:AES256-SHA`);
  assert.ok(createSecureContext({ ciphers: list }));
});

test('cipherList() rejects a suite that OpenSSL does not have', () => {
  assert.throws(() => cipherList(['TLS_RSA_WITH_RC4_128_SHA']), {
    name: 'NetworkError',
    message: 'unknown cipher suite TLS_RSA_WITH_RC4_128_SHA',
  });
});
