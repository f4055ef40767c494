import assert from 'node:assert/strict';
import test from 'node:test';
import { defaultIdRange, type IdRange, idSpace, parseSubIds } from './id-space.ts';

const unit = 65_536;

test('defaultIdRange() is every id but the host’s own', () => {
  assert.deepEqual(defaultIdRange(unit), { first: unit, length: 2 ** 32 - unit });
});

test('parseSubIds() reads the one line of getsubids', () => {
  assert.deepEqual(parseSubIds('0: kubelet 65536 7208960\n'), { first: unit, length: 110 * unit });
});

const unreadable: Record<string, { text: string; why: string }> = {
  'two ranges': {
    text: '0: kubelet 65536 65536\n1: kubelet 200000 65536\n',
    why: 'error parsing line "0: kubelet 65536 65536\\n1: kubelet 200000 65536\\n": it must contain only one line',
  },
  nothing: { text: '', why: 'invalid line ""' },
  'a line that is too long': { text: '0: kubelet 1 2 3', why: 'invalid line "0: kubelet 1 2 3"' },
  'a word for a number': {
    text: '0: kubelet some 65536',
    why: 'error parsing line "0: kubelet some 65536": strconv.ParseUint: parsing "some": invalid syntax',
  },
  'an id that is too large': {
    text: '0: kubelet 65536 4294967296',
    why: 'error parsing line "0: kubelet 65536 4294967296": strconv.ParseUint: parsing "4294967296": value out of range',
  },
};

for (const [name, { text, why }] of Object.entries(unreadable)) {
  test(`parseSubIds() rejects ${name}`, () => assert.throws(() => parseSubIds(text), { message: why }));
}

const rejected: Record<string, { given: Partial<IdRange>; perPod?: number; maxPods?: number; why: string }> = {
  'uneven ranges': { given: {}, perPod: 1000, why: 'kubelet user namespace length 1000 is not a multiple of 65536' },
  'a first id within a range': {
    given: { first: unit + 1 },
    why: 'kubelet user assigned ID 65537 is not a multiple of 65536',
  },
  'the host’s ids': {
    given: { first: 0 },
    why: 'kubelet user assigned ID 0 must be greater or equal to 65536',
  },
  'a range that ends early': {
    given: { length: 110 * unit + 1 },
    why: 'kubelet user assigned IDs length 7208961 is not a multiple of 65536',
  },
  'fewer ranges than pods': {
    given: {},
    maxPods: 111,
    why: 'kubelet user assigned IDs are not enough to support 111 pods',
  },
};

test('idSpace() accepts a range for each pod', () => {
  assert.deepEqual(idSpace({ first: unit, length: 110 * unit }, unit, 110), {
    first: unit,
    length: 110 * unit,
    perPod: unit,
  });
});

for (const [name, { given, perPod = unit, maxPods = 110, why }] of Object.entries(rejected)) {
  test(`idSpace() rejects ${name}`, () => {
    assert.throws(() => idSpace({ first: unit, length: 110 * unit, ...given }, perPod, maxPods), { message: why });
  });
}
