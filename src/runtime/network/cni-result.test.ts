import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interfaceAddresses, sortByPreference } from './cni-result.ts';
import type { JsonObject } from './json-object.ts';

const interfaces = [{ name: 'br0' }, { name: 'eth0', sandbox: '/ns' }, { name: 'net1', sandbox: '/ns' }];

const cases: Record<string, { result: JsonObject; ips: string[] }> = {
  '1.x: addresses of the interface': {
    result: {
      interfaces,
      ips: [
        { address: '10.0.0.1/24', interface: 0 },
        { address: '10.0.0.2/24', interface: 1 },
        { address: '10.9.0.2/24', interface: 2 },
        { address: 'fd00::2/64', interface: 1 },
      ],
    },
    ips: ['10.0.0.2', 'fd00::2'],
  },
  '0.3: with the IP version': {
    result: { interfaces, ips: [{ version: '4', address: '10.0.0.2/24', interface: 1 }] },
    ips: ['10.0.0.2'],
  },
  'addresses without an interface, or of an unlisted one': {
    result: { ips: [{ address: '10.0.0.2/24' }, { address: '10.0.0.3/24', interface: 4 }] },
    ips: ['10.0.0.2', '10.0.0.3'],
  },
  '0.2: one for each IP family': {
    result: { ip4: { ip: '10.0.0.2/24' }, ip6: { ip: 'fd00::2/64' } },
    ips: ['10.0.0.2', 'fd00::2'],
  },
  none: { result: { ips: [{}, 'x'] }, ips: [] },
};
for (const [name, { result, ips }] of Object.entries(cases)) {
  test(`interfaceAddresses() ${name}`, () => assert.deepEqual(interfaceAddresses(result, 'eth0'), ips));
}

test('sortByPreference() puts the first of the family first', () => {
  const ips = ['fd00::2', '10.0.0.2', '10.0.0.3'];
  assert.deepEqual(sortByPreference(ips, 'cni'), ips);
  assert.deepEqual(sortByPreference(ips, 'ipv6'), ips);
  assert.deepEqual(sortByPreference(ips, 'ipv4'), ['10.0.0.2', 'fd00::2', '10.0.0.3']);
  assert.deepEqual(sortByPreference(['fd00::2'], 'ipv4'), ['fd00::2']);
});
