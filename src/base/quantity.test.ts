import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseQuantity, Quantity, QuantityError } from './quantity.ts';

const parsed: Record<string, { value: bigint; milli: bigint; text: string }> = {
  '0': { value: 0n, milli: 0n, text: '0' },
  '+1': { value: 1n, milli: 1000n, text: '+1' },
  '1': { value: 1n, milli: 1000n, text: '1' },
  '.5': { value: 1n, milli: 500n, text: '500m' },
  '1.': { value: 1n, milli: 1000n, text: '1.' },
  '500m': { value: 1n, milli: 500n, text: '500m' },
  '0.1m': { value: 1n, milli: 1n, text: '100u' },
  '0.01n': { value: 1n, milli: 1n, text: '1n' },
  '1e-400': { value: 1n, milli: 1n, text: '1e-9' },
  '1.5': { value: 2n, milli: 1500n, text: '1500m' },
  '1.500': { value: 2n, milli: 1500n, text: '1.500' },
  '1e3': { value: 1000n, milli: 1_000_000n, text: '1e3' },
  '1E3': { value: 1000n, milli: 1_000_000n, text: '1E3' },
  '12e5': { value: 1_200_000n, milli: 1_200_000_000n, text: '1200e3' },
  '1E': { value: 10n ** 18n, milli: 10n ** 21n, text: '1E' },
  '100Mi': { value: 104_857_600n, milli: 104_857_600_000n, text: '100Mi' },
  '1024Ki': { value: 1_048_576n, milli: 1_048_576_000n, text: '1Mi' },
  '1.5Gi': { value: 1_610_612_736n, milli: 1_610_612_736_000n, text: '1536Mi' },
  '0.5Ki': { value: 512n, milli: 512_000n, text: '512' },
  '1.1Ki': { value: 1127n, milli: 1_126_400n, text: '1126400m' },
  '8Ei': { value: 2n ** 63n - 1n, milli: (2n ** 63n - 1n) * 1000n, text: '9223372036854775807' },
  '1000k': { value: 1_000_000n, milli: 1_000_000_000n, text: '1M' },
  '-5': { value: -5n, milli: -5000n, text: '-5' },
  '-0.5': { value: -1n, milli: -500n, text: '-500m' },
  m: { value: 0n, milli: 0n, text: '0' },
};

for (const [text, expected] of Object.entries(parsed)) {
  test(`parseQuantity() reads ${text}`, () => {
    const quantity = parseQuantity(text);
    assert.deepEqual({ value: quantity.value(), milli: quantity.milliValue(), text: quantity.toString() }, expected);
  });
}

const FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX = "unable to parse quantity's suffix";
const refused: Record<string, string> = {
  '': FORMAT,
  '1m0s': FORMAT,
  '1 Mi': FORMAT,
  '1,5': FORMAT,
  ten: FORMAT,
  '1.2.3': FORMAT,
  '1Kii': SUFFIX,
  '1K': SUFFIX,
  '1mi': SUFFIX,
  '1e': SUFFIX,
  '1e9999999': SUFFIX,
  'e-20': 'unable to parse numeric part of quantity',
};

for (const [text, message] of Object.entries(refused)) {
  test(`parseQuantity() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseQuantity(text), new QuantityError(message));
  });
}

test('parseQuantity() takes a JSON number', () => {
  assert.equal(parseQuantity(0.1).toString(), '100m');
  assert.equal(parseQuantity(2).value(), 2n);
});

test('add() and sub() keep the format of the first amount unless it is zero', () => {
  const sums = [
    parseQuantity('1Gi').add(parseQuantity('512Mi')),
    parseQuantity('0').add(parseQuantity('512Mi')),
    parseQuantity('2').sub(parseQuantity('500m')),
    parseQuantity('0').sub(parseQuantity('1Ki')),
  ];
  assert.deepEqual(sums.map(String), ['1536Mi', '512Mi', '1500m', '-1Ki']);
});

test('compare() looks at the amount alone', () => {
  assert.deepEqual(
    [
      parseQuantity('1Ki').compare(parseQuantity('1024')),
      parseQuantity('999m').compare(parseQuantity('1')),
      parseQuantity('1').compare(parseQuantity('-1')),
    ],
    [0, -1, 1],
  );
});

const anyQuantity = fc.record({
  nano: fc.bigInt({ min: -(10n ** 27n), max: 10n ** 27n }),
  format: fc.constantFrom('DecimalSI' as const, 'BinarySI' as const, 'DecimalExponent' as const),
});

test('what toString() writes is read back as the same amount', () => {
  fc.assert(
    fc.property(anyQuantity, ({ nano, format }) => {
      const quantity = new Quantity(nano, format);
      assert.equal(parseQuantity(quantity.toString()).nano, nano);
    }),
  );
});

for (const text of [`${'0'.repeat(100_000)}!`, `${'1'.repeat(100_000)}!`, `1.${'1'.repeat(100_000)}!`]) {
  test(`parseQuantity() rejects ${text.slice(0, 4)}… of ${text.length} characters in linear time`, () => {
    assert.throws(() => parseQuantity(text), { name: 'QuantityError' });
  });
}
