import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DerError,
  derBits,
  derBoolean,
  derContext,
  derImplicit,
  derInteger,
  derObjectId,
  derOctets,
  derSequence,
  derSet,
  derText,
  derTime,
  derValues,
} from './der.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'));

const encodings: Record<string, readonly [value: Uint8Array, encoded: string]> = {
  'a boolean is all ones': [derBoolean(true), '0101ff'],
  'zero is one byte': [derInteger(Uint8Array.of(0, 0)), '020100'],
  'an integer has no zeros before it': [derInteger(Uint8Array.of(0, 0, 5, 0)), '02020500'],
  'an integer never looks negative': [derInteger(Uint8Array.of(0x80)), '02020080'],
  'an object id': [derObjectId('1.2.840.10045.4.3.2'), '06082a8648ce3d040302'],
  octets: [derOctets(Uint8Array.of(1, 2)), '04020102'],
  'bits with how many are unused': [derBits(Uint8Array.of(0x84), 2), '03020284'],
  'a text that can be printed': [derText('system:node:a'), '130d73797374656d3a6e6f64653a61'],
  'another text': [derText('a@b'), '0c03614062'],
  'a time': [derTime('2049-12-31T23:59:59Z'), `170d${Buffer.from('491231235959Z').toString('hex')}`],
  'a late time': [derTime('2050-01-01T00:00:00Z'), `180f${Buffer.from('20500101000000Z').toString('hex')}`],
  'nested values': [
    derSequence(derSet(derBoolean(false)), derContext(3), derImplicit(2, Uint8Array.of(7))),
    '300a3103010100a300820107',
  ],
};

for (const [name, [value, encoded]] of Object.entries(encodings)) {
  test(`DER: ${name}`, () => assert.equal(hex(value), encoded));
}

test('DER: long values say how many bytes their length takes', () => {
  for (const [length, head] of [
    [127, '047f'],
    [128, '048180'],
    [255, '0481ff'],
    [256, '04820100'],
    [70_000, '0483011170'],
  ] as const) {
    const encoded = derOctets(new Uint8Array(length));
    assert.equal(hex(encoded.subarray(0, head.length / 2)), head);
    assert.equal(derValues(encoded)[0]?.content.length, length);
  }
});

test('derValues() reads what stands one after another', () => {
  const values = derValues(bytes('020105040201023000'));
  assert.deepEqual(
    values.map(({ tag, content, encoded }) => [tag, hex(content), hex(encoded)]),
    [
      [2, '05', '020105'],
      [4, '0102', '04020102'],
      [0x30, '', '3000'],
    ],
  );
});

for (const broken of ['02', '0205', '0480', '0485ffffffffff', '0481']) {
  test(`derValues() refuses ${broken}`, () => {
    assert.throws(() => derValues(bytes(broken)), DerError);
  });
}
