import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goErrorList } from './go-error-list.ts';

test('goErrorList() puts several texts into brackets, and none of them twice', () => {
  assert.equal(goErrorList(['no']), 'no');
  assert.equal(goErrorList(['no', 'no']), 'no');
  assert.equal(goErrorList(['no', 'never', 'no']), '[no, never]');
});
