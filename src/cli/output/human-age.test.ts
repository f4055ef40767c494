import assert from 'node:assert/strict';
import { test } from 'node:test';
import { humanAge } from './human-age.ts';

const cases: ReadonlyArray<readonly [seconds: number, age: string]> = [
  [-5, '<invalid>'],
  [-0.5, '0s'],
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [125, '2m5s'],
  [600, '10m'],
  [3 * 3600 - 1, '179m'],
  [3 * 3600, '3h'],
  [3 * 3600 + 60, '3h1m'],
  [8 * 3600, '8h'],
  [47 * 3600, '47h'],
  [48 * 3600, '2d'],
  [51 * 3600, '2d3h'],
  [8 * 86400, '8d'],
  [2 * 365 * 86400, '2y'],
  [2 * 365 * 86400 + 86400, '2y1d'],
  [9 * 365 * 86400, '9y'],
];

for (const [seconds, age] of cases) {
  test(`humanAge() shows ${seconds} s as ${age}`, () => {
    assert.equal(humanAge(seconds * 1000), age);
  });
}
