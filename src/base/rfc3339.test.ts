import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatMicroTime, formatNanoTime, formatTime, parseNanoTime, parseTime, TimeError } from './rfc3339.ts';

const written: Record<string, { ms: number; text: string; micro: string }> = {
  'the epoch': { ms: 0, text: '1970-01-01T00:00:00Z', micro: '1970-01-01T00:00:00.000000Z' },
  'a time with milliseconds': {
    ms: 1_794_733_329_123,
    text: '2026-11-15T09:02:09Z',
    micro: '2026-11-15T09:02:09.123000Z',
  },
  'a leap day': { ms: 1_709_164_800_000, text: '2024-02-29T00:00:00Z', micro: '2024-02-29T00:00:00.000000Z' },
  'before 1970': { ms: -1, text: '1969-12-31T23:59:59Z', micro: '1969-12-31T23:59:59.999000Z' },
};

for (const [name, { ms, text, micro }] of Object.entries(written)) {
  test(`formatTime() writes ${name}`, () => {
    assert.deepEqual([formatTime(ms), formatMicroTime(ms)], [text, micro]);
  });
}

test('formatNanoTime() leaves out zeros at the end', () => {
  const second = 1_794_733_329_000_000_000n;
  assert.deepEqual([second, second + 500_000_000n, second + 1n].map(formatNanoTime), [
    '2026-11-15T09:02:09Z',
    '2026-11-15T09:02:09.5Z',
    '2026-11-15T09:02:09.000000001Z',
  ]);
});

test('parseTime() reads a time zone and a fraction', () => {
  assert.equal(parseTime('2026-11-15T10:32:09+01:30'), 1_794_733_329_000);
  assert.equal(parseTime('2026-11-15T09:02:09.1239Z'), 1_794_733_329_123);
  assert.equal(parseNanoTime('2026-11-15T09:02:09.123456789123Z'), 1_794_733_329_123_456_789n);
});

for (const text of ['', '2026-11-15', '2026-11-15 09:02:09Z', '2026-11-15T09:02:09']) {
  test(`parseTime() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseTime(text), new TimeError(`cannot parse ${JSON.stringify(text)} as an RFC 3339 time`));
  });
}

for (const text of [
  '2026-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:00+25:00',
]) {
  test(`parseTime() refuses ${text}`, () => {
    assert.throws(() => parseTime(text), /a part is out of range/);
  });
}

test('what formatNanoTime() writes is read back as the same time', () => {
  const year0 = parseNanoTime('0000-01-01T00:00:00Z');
  const year9999 = parseNanoTime('9999-12-31T23:59:59.999999999Z');
  fc.assert(
    fc.property(fc.bigInt({ min: year0, max: year9999 }), (ns) => {
      assert.equal(parseNanoTime(formatNanoTime(ns)), ns);
    }),
  );
});
