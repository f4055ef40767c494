import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuWeight } from './cgroups.ts';

const weights: Record<number, number> = {
  0: 1,
  2: 1,
  28: 1,
  29: 2,
  102: 4,
  1024: 39,
  2048: 79,
  262143: 9999,
  262144: 10_000,
  500000: 10_000,
};

for (const [shares, weight] of Object.entries(weights)) {
  test(`cpuWeight() makes ${weight} of ${shares} shares`, () => {
    assert.equal(cpuWeight(Number(shares)), weight);
  });
}
