import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goFloat } from './go-float.ts';

const cases: Record<string, number> = {
  '0': 0,
  '-1': -1,
  '999999': 999_999,
  '1e+06': 1_000_000,
  '2.52765184e+10': 25_276_518_400,
  '0.005': 0.005,
  '0.0001': 0.0001,
  '1.6376e-05': 0.000_016_376,
  '1063.870501028': 1063.870501028,
  '-2.5e+06': -2_500_000,
  '+Inf': Number.POSITIVE_INFINITY,
  NaN: Number.NaN,
};

for (const [text, value] of Object.entries(cases)) {
  test(`goFloat() writes ${text} as Go does`, () => assert.equal(goFloat(value), text));
}
