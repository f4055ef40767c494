import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ipFamily, isUnspecifiedIp } from './ip-address.ts';

const addresses: Record<string, 4 | 6 | undefined> = {
  '10.0.0.1': 4,
  '010.0.0.01': 4,
  '256.0.0.1': undefined,
  '1.2.3': undefined,
  '::': 6,
  '::1': 6,
  'fd00::1:2': 6,
  '1:2:3:4:5:6:7:8': 6,
  '::ffff:10.0.0.1': 6,
  '1:2:3:4:5:6:10.0.0.1': 6,
  '1:2:3:4:5:6:7': undefined,
  '1::2::3': undefined,
  '1:2:3:4:5:6::8': 6,
  '1:2:3:4:5:6:7::8': undefined,
  '1:2:3:4:5:6:7:8::': undefined,
  '10.0.0.1::': undefined,
  '12345::': undefined,
  'fe80::1%eth0': undefined,
  '': undefined,
};

for (const [text, family] of Object.entries(addresses)) {
  test(`ipFamily() of "${text}" is ${family}`, () => {
    assert.equal(ipFamily(text), family);
  });
}

test('isUnspecifiedIp() knows both families', () => {
  assert.deepEqual(['0.0.0.0', '::', '0:0::0', '::1', '0.0.0.1', '', ':'].map(isUnspecifiedIp), [
    true,
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});
