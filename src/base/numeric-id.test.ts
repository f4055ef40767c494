import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isId, type ParsedId, parseId } from './numeric-id.ts';

const id = (value: number): ParsedId => ({ kind: 'id', id: value });
const name = (text: string): ParsedId => ({ kind: 'name', name: text });
const outOfRange: ParsedId = { kind: 'outOfRange' };

const cases: Record<string, ParsedId> = {
  '0': id(0),
  '00': id(0),
  '+0': id(0),
  '-0': id(0),
  '1000': id(1000),
  '+1000': id(1000),
  '0001000': id(1000),
  '2147483647': id(2_147_483_647),
  '2147483648': outOfRange,
  '4294967294': outOfRange,
  '4294967295': outOfRange,
  '4294967296': outOfRange,
  '9007199254740993': outOfRange,
  '18446744073709551616': outOfRange,
  [`1${'0'.repeat(400)}`]: outOfRange,
  '-1': outOfRange,
  '-4294967296': outOfRange,
  '': name(''),
  ' ': name(' '),
  ' 0': name(' 0'),
  '0 ': name('0 '),
  '0\n': name('0\n'),
  '+': name('+'),
  '--1': name('--1'),
  '1e3': name('1e3'),
  '0x0': name('0x0'),
  '1_000': name('1_000'),
  '1.0': name('1.0'),
  '٠': name('٠'),
  '1000a': name('1000a'),
  root: name('root'),
};

for (const [text, parsed] of Object.entries(cases)) {
  test(`parseId(): ${JSON.stringify(text.slice(0, 30))}`, () => {
    const actual = parseId(text);
    assert.deepEqual(actual, parsed);
    assert.ok(actual.kind !== 'id' || Object.is(Math.abs(actual.id), actual.id), 'no negative zero');
  });
}

test('isId() accepts whole numbers from 0 to 2147483647', () => {
  for (const value of [0, 0n, 1000, 2_147_483_647, 2_147_483_647n]) assert.equal(isId(value), true, String(value));
  for (const value of [-1, -1n, 0.5, 2_147_483_648, 2_147_483_648n, 4_294_967_295n, 2n ** 63n - 1n, Number.NaN]) {
    assert.equal(isId(value), false, String(value));
  }
});
