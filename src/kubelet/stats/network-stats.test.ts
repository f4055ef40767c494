import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetworkUsage } from '../../cri/generated/runtime-v1.ts';
import { networkStats, reportedNetworkStats } from './network-stats.ts';

const TIME = '2026-11-16T18:00:00Z';
const counters = (name: string, bytes: bigint) => ({
  name,
  received: { bytes, packets: 1n, errors: 2n, dropped: 0n },
  sent: { bytes: bytes + 1n, packets: 1n, errors: 3n, dropped: 0n },
});
const shown = (name: string, bytes: number) => ({
  name,
  rxBytes: bytes,
  rxErrors: 2,
  txBytes: bytes + 1,
  txErrors: 3,
});

test('eth0 is the default interface; interfaces of the machine itself and of containers are not counted', () => {
  const all = ['lo', 'veth12', 'docker0', 'eth0', 'eth1'].map((name, index) => counters(name, BigInt(index)));
  assert.deepEqual(networkStats(TIME, all), {
    time: TIME,
    ...shown('eth0', 3),
    interfaces: [shown('eth0', 3), shown('eth1', 4)],
  });
});

test('without eth0 the default interface has no name and no counters', () => {
  assert.deepEqual(networkStats(TIME, [counters('ens3', 1n)]), {
    time: TIME,
    name: '',
    interfaces: [shown('ens3', 1)],
  });
});

test('the default interface that a runtime reports is listed with the others', () => {
  const usage = NetworkUsage.fromPartial({
    timestamp: 1_000_000_000n,
    defaultInterface: { name: 'eth0', rxBytes: { value: 5n } },
    interfaces: [{ name: 'net1', txBytes: { value: 6n } }],
  });
  assert.deepEqual(reportedNetworkStats(usage), {
    time: '1970-01-01T00:00:01Z',
    name: 'eth0',
    rxBytes: 5,
    interfaces: [
      { name: 'eth0', rxBytes: 5 },
      { name: 'net1', txBytes: 6 },
    ],
  });
});
