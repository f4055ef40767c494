import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError, codeFromNumber, isNotFound, codeToNumber, rpcErrorText } from './cri-error.ts';

test('codes and numbers are each other’s inverse', () => {
  for (let number = 1; number <= 16; number++) assert.equal(codeToNumber(codeFromNumber(number)), number);
  assert.deepEqual([5, 14, 12, 4].map(codeFromNumber), ['NotFound', 'Unavailable', 'Unimplemented', 'DeadlineExceeded']);
});

test('codeOfNumber() takes what it does not know as Unknown', () => {
  assert.deepEqual([0, 17, -1].map(codeFromNumber), ['Unknown', 'Unknown', 'Unknown']);
});

test('isNotFound() is about CriErrors alone', () => {
  const cases = [new CriError('NotFound', 'x'), new CriError('Unknown', 'not found'), new Error('NotFound'), undefined];
  assert.deepEqual(cases.map(isNotFound), [true, false, false, false]);
});

test('rpcErrorText() is what kubelet shows', () => {
  const texts = [
    new CriError('NotFound', 'no such image', { method: 'PullImage' }),
    new CriError('Unknown', 'no space left', { method: 'PullImage' }),
    new CriError('Unknown', 'no space left', { method: 'CreateContainer' }),
  ].map(rpcErrorText);
  assert.deepEqual(texts, [
    'rpc error: code = NotFound desc = no such image',
    'no space left',
    'rpc error: code = Unknown desc = no space left',
  ]);
});
