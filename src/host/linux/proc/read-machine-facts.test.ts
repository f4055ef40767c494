import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultRouteInterface, readMachineFacts } from './read-machine-facts.ts';

const HEADER = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT';

const cases: Record<string, { lines: string[]; name: string | undefined }> = {
  'finds none on a machine without routes': { lines: [], name: undefined },
  'does not take a network route for the default': {
    lines: ['br0\t00580A0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0'],
    name: undefined,
  },
  'finds the default route': {
    lines: [
      'br0\t00580A0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
      'eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
    ],
    name: 'eth0',
  },
  'prefers the lower metric': {
    lines: [
      'wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0',
      'eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0',
    ],
    name: 'eth0',
  },
};

for (const [name, { lines, name: expected }] of Object.entries(cases)) {
  test(`defaultRouteInterface() ${name}`, () => {
    assert.equal(defaultRouteInterface([HEADER, ...lines, ''].join('\n')), expected);
  });
}

test('readMachineFacts() returns the facts of this machine', () => {
  const { hostname, memoryBytes } = readMachineFacts();
  assert.ok(hostname.length > 0);
  assert.ok(memoryBytes > 1_000_000);
});
