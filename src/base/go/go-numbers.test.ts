import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGoBool, parseGoInt, parseGoLevel } from './go-numbers.ts';

const numbers: Record<string, number | string> = {
  '12': 12,
  '-12': -12,
  '+1': 1,
  '0': 0,
  '0x1F': 31,
  '0b11': 3,
  '0o17': 15,
  '017': 15,
  '1_000': 1000,
  '2147483647': 2147483647,
  '-2147483648': -2147483648,
  '2147483648': 'strconv.ParseInt: parsing "2147483648": value out of range',
  '1.5': 'strconv.ParseInt: parsing "1.5": invalid syntax',
  '': 'strconv.ParseInt: parsing "": invalid syntax',
  '089': 'strconv.ParseInt: parsing "089": invalid syntax',
};

for (const [text, value] of Object.entries(numbers)) {
  test(`parseGoInt() reads "${text}"`, () => {
    if (typeof value === 'number') assert.equal(parseGoInt(text, 32), value);
    else assert.throws(() => parseGoInt(text, 32), { message: value });
  });
}

test('parseGoInt() reads 64 bits where it should', () => {
  assert.equal(parseGoInt('4294967296', 64), 4294967296);
});

test("parseGoBool() takes Go's words alone", () => {
  assert.deepEqual(['1', 'T', 'true', '0', 'F', 'False'].map(parseGoBool), [true, true, true, false, false, false]);
  assert.throws(() => parseGoBool('yes'), { message: 'strconv.ParseBool: parsing "yes": invalid syntax' });
});

test('parseGoLevel() takes a level that fits', () => {
  assert.equal(parseGoLevel('10'), 10);
  assert.throws(() => parseGoLevel('-1'), { message: 'strconv.ParseUint: parsing "-1": invalid syntax' });
  assert.throws(() => parseGoLevel('2147483648'), {
    message: 'strconv.ParseUint: parsing "2147483648": value out of range',
  });
});
