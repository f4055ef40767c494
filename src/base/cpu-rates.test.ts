import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuRates } from './cpu-rates.ts';

const S = 1_000_000_000n;

const cases: Record<string, { readings: [cpuNs: bigint, atNs: bigint][]; rates: (bigint | undefined)[] }> = {
  'has no rate at first': { readings: [[5n * S, 0n]], rates: [undefined] },
  'is the usage between two readings': {
    readings: [
      [5n * S, 0n],
      [6n * S, 10n * S],
      [26n * S, 20n * S],
    ],
    rates: [undefined, S / 10n, 2n * S],
  },
  'stays while readings are close together': {
    readings: [
      [0n, 0n],
      [S, 10n * S],
      [2n * S, 10n * S + 1n],
      [2n * S, 11n * S],
    ],
    rates: [undefined, S / 10n, S / 10n, S],
  },
  'restarts with a new cgroup of the same name': {
    readings: [
      [5n * S, 0n],
      [S, 10n * S],
      [2n * S, 20n * S],
    ],
    rates: [undefined, undefined, S / 10n],
  },
};

for (const [name, { readings, rates }] of Object.entries(cases)) {
  test(`CpuRates ${name}`, () => {
    const cpu = new CpuRates();
    assert.deepEqual(
      readings.map(([cpuNs, atNs]) => cpu.nanoCores('c', cpuNs, atNs)),
      rates,
    );
  });
}

test('CpuRates drops samples of removed ids', () => {
  const cpu = new CpuRates();
  cpu.nanoCores('c', 0n, 0n);
  cpu.retain(() => false);
  assert.equal(cpu.nanoCores('c', S, 10n * S), undefined);
});
