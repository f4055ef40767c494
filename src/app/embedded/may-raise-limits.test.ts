import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayRaiseLimits } from './may-raise-limits.ts';

const cases: ReadonlyArray<readonly [status: string, may: boolean]> = [
  ['Name:\tnode\nCapEff:\t000001ffffffffff\n', true],
  ['Name:\tnode\nCapEff:\t000001fffeffffff\n', false],
  ['Name:\tnode\nCapEff:\t0000000001000000\n', true],
  ['Name:\tnode\n', false],
];

for (const [status, may] of cases) {
  test(`mayRaiseLimits() is ${may} for ${JSON.stringify(status)}`, () => {
    assert.equal(mayRaiseLimits(status), may);
  });
}
