import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ipAddressErrors } from './ip-address.ts';

const NONE = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const cases: Record<string, string[]> = {
  '10.9.8.7': [],
  '::': [],
  '::1': [],
  '2001:db8::ffff': [],
  'FE80:0:0:0:0:0:0:0abc': [],
  '64:ff9b::10.0.0.1': [],
  '': [NONE],
  '10.9.8': [NONE],
  '10.9.8.256': [NONE],
  '10.9.8.7/24': [NONE],
  localhost: [NONE],
  '1::2::3': [NONE],
  '1:2:3:4:5:6:7': [NONE],
  '1:2:3:4:5:6:7:8::': [NONE],
  '12345::': [NONE],
  'fe80::1%eth0': [NONE],
  '010.9.8.7': ['must not have leading 0s'],
  '::ffff:1.2.3.4': ['must not be an IPv4-mapped IPv6 address'],
};

for (const [text, messages] of Object.entries(cases)) {
  test(`ipAddressErrors() of ${JSON.stringify(text)}`, () => {
    assert.deepEqual(ipAddressErrors(text), messages);
  });
}
