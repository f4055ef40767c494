import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalIp } from './canonical-ip.ts';

const cases: Record<string, string | undefined> = {
  '10.0.0.1': '10.0.0.1',
  '010.000.0.09': '10.0.0.9',
  '2001:0DB8:0:0:0:0:0:1': '2001:db8::1',
  '::': '::',
  '::ffff:10.0.0.1': '10.0.0.1',
  '10.0.0.256': undefined,
  '10.0.0': undefined,
  '2001:db8::1::2': undefined,
  box: undefined,
  '': undefined,
};

for (const [text, wanted] of Object.entries(cases)) {
  test(`canonicalIp() of ${JSON.stringify(text)} is ${wanted ?? 'undefined'}`, () =>
    assert.equal(canonicalIp(text), wanted));
}
