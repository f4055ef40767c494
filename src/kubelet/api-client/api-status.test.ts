import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorFromResponse } from './api-status.ts';

const status = (fields: object): string => JSON.stringify({ kind: 'Status', apiVersion: 'v1', ...fields });

const cases: Record<string, { given: [number, Record<string, string>, string]; error: object }> = {
  'uses the reason and the message of a Status': {
    given: [404, {}, status({ reason: 'NotFound', code: 404, message: 'pods "a" not found' })],
    error: { reason: 'NotFound', message: 'pods "a" not found', retryAfterMs: undefined },
  },
  'accepts both reasons for a version that is too old': {
    given: [410, {}, status({ reason: 'Gone', code: 410, message: 'too old' })],
    error: { reason: 'Expired', message: 'too old' },
  },
  'maps a timeout to Unavailable': {
    given: [504, {}, status({ reason: 'Timeout', code: 504, message: 'm', details: { retryAfterSeconds: 1 } })],
    error: { reason: 'Unavailable', retryAfterMs: 1000 },
  },
  'honours Retry-After': {
    given: [429, { 'retry-after': '3' }, status({ reason: 'TooManyRequests', code: 429, message: 'm' })],
    error: { reason: 'TooManyRequests', retryAfterMs: 3000 },
  },
  'uses the code if the reason is unknown or missing': {
    given: [409, {}, status({ reason: 'New', message: 'm' })],
    error: { reason: 'Conflict', message: 'm' },
  },
  'does not take a property of every object for a reason': {
    given: [409, {}, status({ reason: 'constructor', message: 'm' })],
    error: { reason: 'Conflict', message: 'm' },
  },
  'does not show a body that is not a Status': {
    given: [502, {}, '<html>secret</html>'],
    error: { reason: 'Unavailable', message: 'the server answered with status 502' },
  },
  'maps other client errors to BadRequest': {
    given: [415, {}, ''],
    error: { reason: 'BadRequest', message: 'the server answered with status 415' },
  },
  'maps other server errors to InternalError': {
    given: [500, {}, '{}'],
    error: { reason: 'InternalError', message: 'the server answered with status 500' },
  },
};

for (const [name, { given, error }] of Object.entries(cases)) {
  test(`errorFromResponse() ${name}`, () => {
    const { reason, message, retryAfterMs } = errorFromResponse(...given);
    assert.deepEqual({ reason, message, retryAfterMs, ...error }, { reason, message, retryAfterMs });
  });
}
