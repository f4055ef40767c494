import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeAddress } from '../../../api/generated/core-v1.ts';
import { type AddressView, nodeAddresses, providedIps } from './node-addresses.ts';

const SETTINGS = { nodeName: 'box', nodeIps: [], isCloudExternal: false };
const VIEW: AddressView = {
  local: ['127.0.0.1', '::1', '10.0.0.5', '10.0.0.6', '2001:db8::5', 'fe80::1'],
  named: [],
  primary: { 4: '10.0.0.5', 6: '2001:db8::5' },
};
const CLOUD: readonly NodeAddress[] = [{ type: 'ExternalIP', address: '203.0.113.9' }];

interface Case {
  readonly settings?: Partial<Parameters<typeof nodeAddresses>[0]>;
  readonly view?: Partial<AddressView>;
  readonly before?: readonly NodeAddress[];
  readonly ips: readonly string[];
  readonly name?: string;
}

const cases: Record<string, Case> = {
  'uses the address of the default route': { ips: ['10.0.0.5'] },
  'uses the other family if the first has no route': {
    view: { primary: { 6: '2001:db8::5' } },
    ips: ['2001:db8::5'],
  },
  'uses the addresses of the name': { view: { named: ['10.0.0.6'] }, ips: ['10.0.0.6'] },
  'prefers IPv4 among the addresses of the name': { view: { named: ['2001:db8::5', '10.0.0.6'] }, ips: ['10.0.0.6'] },
  'ignores addresses of the name that are foreign or loopback': {
    view: { named: ['198.51.100.1', '127.0.0.1'] },
    ips: ['10.0.0.5'],
  },
  'uses a name that is an address': { settings: { nodeName: '10.0.0.6' }, ips: ['10.0.0.6'], name: '10.0.0.6' },
  'uses the configured address': { settings: { nodeIps: ['10.0.0.6'] }, ips: ['10.0.0.6'] },
  'writes an address as Go does': { settings: { nodeIps: ['2001:0DB8:0::5'] }, ips: ['2001:db8::5'] },
  'uses one of each family': { settings: { nodeIps: ['2001:db8::5', '10.0.0.5'] }, ips: ['2001:db8::5', '10.0.0.5'] },
  'prefers IPv6 if configured': { settings: { nodeIps: ['::'] }, ips: ['2001:db8::5'] },
  'prefers IPv4 if configured': { settings: { nodeIps: ['0.0.0.0'] }, ips: ['10.0.0.5'] },
  'leaves the addresses to the cloud': { settings: { isCloudExternal: true }, ips: [] },
  'gives the cloud an initial address': {
    settings: { isCloudExternal: true, nodeIps: ['10.0.0.6'] },
    ips: ['10.0.0.6'],
  },
};

for (const [name, { settings, view, before, ips, name: hostname = 'box' }] of Object.entries(cases)) {
  test(`nodeAddresses() ${name}`, () => {
    assert.deepEqual(nodeAddresses({ ...SETTINGS, ...settings }, { ...VIEW, ...view }, before), [
      ...ips.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: hostname },
    ]);
  });
}

test('nodeAddresses() keeps the cloud’s addresses', () => {
  const settings = { ...SETTINGS, isCloudExternal: true, nodeIps: ['10.0.0.6'] };
  assert.deepEqual(nodeAddresses(settings, VIEW, CLOUD), CLOUD);
});

const rejected: Record<string, { nodeIps: readonly string[]; view?: Partial<AddressView>; message: string }> = {
  loopback: { nodeIps: ['127.0.0.1'], message: "failed to validate nodeIP: nodeIP can't be loopback address" },
  multicast: { nodeIps: ['224.0.0.1'], message: "failed to validate nodeIP: nodeIP can't be a multicast address" },
  'link-local': {
    nodeIps: ['fe80::1'],
    message: "failed to validate nodeIP: nodeIP can't be a link-local unicast address",
  },
  'an address of another machine': {
    nodeIps: ['10.0.0.5', '2001:db8::9'],
    message: `failed to validate secondaryNodeIP: node IP: "2001:db8::9" not found in the host's network interfaces`,
  },
  'no address': {
    nodeIps: [],
    view: { primary: {} },
    message: `can't get ip address of node box. error: no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"`,
  },
};

for (const [name, { nodeIps, view, message }] of Object.entries(rejected)) {
  test(`nodeAddresses() rejects ${name}`, () => {
    assert.throws(() => nodeAddresses({ ...SETTINGS, nodeIps }, { ...VIEW, ...view }), {
      name: 'AddressError',
      message,
    });
  });
}

test('providedIps() is set only for a cloud provider', () => {
  const given = { ...SETTINGS, nodeIps: ['10.0.0.5', '2001:db8::5'] };
  assert.equal(providedIps(given), undefined);
  assert.equal(providedIps({ ...given, isCloudExternal: true }), '10.0.0.5,2001:db8::5');
  assert.equal(providedIps({ ...SETTINGS, nodeIps: ['::'], isCloudExternal: true }), undefined);
});
