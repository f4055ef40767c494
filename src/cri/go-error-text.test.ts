import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from './cri-error.ts';
import { goErrorText } from './go-error-text.ts';

const GONE = new CriError('Unavailable', 'gone', { method: 'PullImage' });
const texts: Record<string, unknown> = {
  'rpc error: code = Unavailable desc = gone': GONE,
  '401 Unauthorized': new CriError('Unknown', '401 Unauthorized', { method: 'PullImage' }),
  'no space': new Error('no space'),
  '[rpc error: code = Unavailable desc = gone, no space]': new AggregateError([GONE, new Error('no space'), GONE]),
};

for (const [text, error] of Object.entries(texts)) {
  test(`goErrorText() writes ${text}`, () => assert.equal(goErrorText(error), text));
}
