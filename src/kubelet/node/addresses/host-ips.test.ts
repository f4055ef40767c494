import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostIps, hostIpsFromAddresses } from './host-ips.ts';

const VIEW = {
  local: ['127.0.0.1', '192.0.2.1', '192.0.2.2', '2001:db8::1'],
  named: [],
  primary: { 4: '192.0.2.1', 6: '2001:db8::1' },
};

const given: Record<string, readonly [nodeIps: readonly string[], expected: readonly string[]]> = {
  'unset: the primary IPv4 address': [[], ['192.0.2.1']],
  'an address of the machine': [['192.0.2.2'], ['192.0.2.2']],
  'one of each family': [
    ['2001:db8::1', '192.0.2.1'],
    ['2001:db8::1', '192.0.2.1'],
  ],
  'any of IPv6': [['::'], ['2001:db8::1']],
  'any of IPv4': [['0.0.0.0'], ['192.0.2.1']],
  'an address that the machine does not have': [['198.51.100.1'], []],
};

for (const [what, [nodeIps, expected]] of Object.entries(given)) {
  test(`hostIps() for --node-ip: ${what}`, () => {
    assert.deepEqual(hostIps({ nodeName: 'box', nodeIps, isCloudExternal: false }, VIEW), expected);
  });
}

test('hostIpsFromAddresses() prefers internal addresses, and has one of each family', () => {
  const addresses = [
    { type: 'ExternalIP', address: '203.0.113.1' },
    { type: 'InternalIP', address: '2001:DB8::1' },
    { type: 'InternalIP', address: '2001:db8::2' },
    { type: 'Hostname', address: 'box' },
  ];
  assert.deepEqual(hostIpsFromAddresses(addresses), ['2001:db8::1', '203.0.113.1']);
  assert.deepEqual(hostIpsFromAddresses([{ type: 'Hostname', address: 'box' }]), []);
});
