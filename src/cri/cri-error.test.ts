import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError, codeFromNumber, codeToNumber, isNotFound, rpcErrorText } from './cri-error.ts';

test('codes and numbers are each other’s inverse', () => {
  for (let number = 1; number <= 16; number++) assert.equal(codeToNumber(codeFromNumber(number)), number);
  assert.deepEqual([5, 14, 12, 4].map(codeFromNumber), [
    'NotFound',
    'Unavailable',
    'Unimplemented',
    'DeadlineExceeded',
  ]);
});

test('codeFromNumber() maps unknown numbers to Unknown', () => {
  assert.deepEqual([0, 17, -1].map(codeFromNumber), ['Unknown', 'Unknown', 'Unknown']);
});

test('isNotFound() is true only for CriErrors', () => {
  const cases = [new CriError('NotFound', 'x'), new CriError('Unknown', 'not found'), new Error('NotFound'), undefined];
  assert.deepEqual(cases.map(isNotFound), [true, false, false, false]);
});

test('rpcErrorText() is kubelet’s text', () => {
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
