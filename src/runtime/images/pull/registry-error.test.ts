import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../../base/rfc3339.ts';
import { NetworkError } from '../../../host/network.ts';
import { isTransient, parseRetryAfterMs, RegistryError } from './registry-error.ts';

const NOW = parseTime('2026-11-15T09:00:00Z');

const PAUSES: Record<string, number | undefined> = {
  '0': 0,
  '120': 120_000,
  'Sun, 15 Nov 2026 09:00:30 GMT': 30_000,
  'Sun, 15 Nov 2026 08:00:00 GMT': 0,
  'Sun, 99 Nov 2026 08:00:00 GMT': undefined,
  soon: undefined,
  '-5': undefined,
};

for (const [header, expected] of Object.entries(PAUSES)) {
  test(`parseRetryAfterMs() reads ${header}`, () => assert.equal(parseRetryAfterMs(header, NOW), expected));
}

const TRANSIENT: ReadonlyArray<readonly [error: unknown, transient: boolean]> = [
  [new RegistryError(404, ''), false],
  [new RegistryError(401, ''), false],
  [new RegistryError(408, ''), true],
  [new RegistryError(429, ''), true],
  [new RegistryError(500, ''), true],
  [new RegistryError(503, ''), true],
  [new RegistryError(0, ''), false],
  [new NetworkError('ECONNREFUSED', ''), true],
  [new NetworkError('EAI_AGAIN', ''), true],
  [new NetworkError('ENOTFOUND', ''), false],
  [new NetworkError('DEPTH_ZERO_SELF_SIGNED_CERT', ''), false],
  [new NetworkError('ERR_TLS_CERT_ALTNAME_INVALID', ''), false],
  [new TypeError('a bug'), false],
];

for (const [error, transient] of TRANSIENT) {
  const name = error instanceof RegistryError ? error.status : error instanceof NetworkError ? error.code : 'a bug';
  test(`isTransient() classifies ${name}`, () => assert.equal(isTransient(error), transient));
}
