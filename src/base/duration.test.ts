import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DurationError, formatDuration, formatDurationMs, parseDuration, parseDurationMs } from './duration.ts';

const parsed: Record<string, { ns: bigint; text: string }> = {
  '0': { ns: 0n, text: '0s' },
  '-0': { ns: 0n, text: '0s' },
  '1m0s': { ns: 60_000_000_000n, text: '1m0s' },
  '60s': { ns: 60_000_000_000n, text: '1m0s' },
  '1.5h': { ns: 5_400_000_000_000n, text: '1h30m0s' },
  '100ms': { ns: 100_000_000n, text: '100ms' },
  '-1µs': { ns: -1000n, text: '-1µs' },
  '1us': { ns: 1000n, text: '1µs' },
  '1.5ms': { ns: 1_500_000n, text: '1.5ms' },
  '.5s': { ns: 500_000_000n, text: '500ms' },
  '1.s': { ns: 1_000_000_000n, text: '1s' },
  '+5s': { ns: 5_000_000_000n, text: '5s' },
  '1h1ns': { ns: 3_600_000_000_001n, text: '1h0m0.000000001s' },
  '0.33333333333333333333h': { ns: 1_200_000_000_000n, text: '20m0s' },
  '-2562047h47m16.854775808s': { ns: -(2n ** 63n), text: '-2562047h47m16.854775808s' },
};

for (const [text, { ns, text: canonical }] of Object.entries(parsed)) {
  test(`parseDuration() reads ${text}`, () => {
    assert.deepEqual({ ns: parseDuration(text), text: formatDuration(ns) }, { ns, text: canonical });
  });
}

const refused: Record<string, string> = {
  '': 'time: invalid duration ""',
  '-': 'time: invalid duration "-"',
  s: 'time: invalid duration "s"',
  '.s': 'time: invalid duration ".s"',
  '1 s': 'time: unknown unit " s" in duration "1 s"',
  '10': 'time: missing unit in duration "10"',
  '1m30': 'time: missing unit in duration "1m30"',
  '1µ': 'time: unknown unit "\\xc2\\xb5" in duration "1\\xc2\\xb5"',
  '1d': 'time: unknown unit "d" in duration "1d"',
  '9223372036854775808ns': 'time: invalid duration "9223372036854775808ns"',
  '3000000h': 'time: invalid duration "3000000h"',
};

for (const [text, message] of Object.entries(refused)) {
  test(`parseDuration() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseDuration(text), new DurationError(message));
  });
}

test('milliseconds keep their fraction', () => {
  assert.equal(parseDurationMs('1.5ms'), 1.5);
  assert.equal(parseDurationMs('1h'), 3_600_000);
  assert.equal(formatDurationMs(90_000), '1m30s');
  assert.equal(formatDurationMs(0.25), '250µs');
});

test('what formatDuration() writes is read back as the same duration', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (ns) => {
      assert.equal(parseDuration(formatDuration(ns)), ns);
    }),
  );
});
