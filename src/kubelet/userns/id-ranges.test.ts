import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { IdRanges } from './id-ranges.ts';

const unit = 65_536;
const space = { first: unit, length: 4 * unit, perPod: unit };

test('IdRanges.allocate() assigns every range once, then throws', () => {
  const ranges = new IdRanges(space);
  const firsts = ['a', 'b', 'c', 'd'].map((uid) => ranges.allocate(uid).first);
  assert.deepEqual(firsts, [unit, 2 * unit, 3 * unit, 4 * unit]);
  assert.throws(() => ranges.allocate('e'), { message: 'could not find an empty slot to allocate a user namespace' });
});

test('IdRanges.allocate() reuses a released range last', () => {
  const ranges = new IdRanges(space);
  ranges.allocate('a');
  ranges.release('a');
  assert.equal(ranges.allocate('b').first, 2 * unit);
});

test('IdRanges.allocate() returns the range of a pod that has one', () => {
  const ranges = new IdRanges(space);
  assert.deepEqual(ranges.allocate('a'), ranges.allocate('a'));
  ranges.release('a');
  const others = ['b', 'c', 'd', 'e'].map((uid) => ranges.allocate(uid).first);
  assert.equal(new Set(others).size, 4);
});

test('IdRanges.record() reserves a range', () => {
  const ranges = new IdRanges(space);
  ranges.record('a', { first: unit, length: unit });
  ranges.record('a', { first: unit, length: unit });
  assert.equal(ranges.allocate('b').first, 2 * unit);
});

const rejected: Record<string, { first: number; length?: number; uid?: string; why: string }> = {
  'a different length': { first: 2 * unit, length: 2 * unit, why: 'wrong user namespace length 131072' },
  'a range across two': { first: unit + 1, why: 'wrong user namespace offset specified 65537' },
  'a second range': { first: 2 * unit, uid: 'a', why: 'different user namespace range already used by pod "a"' },
  'ids outside the space': { first: 5 * unit, why: 'id 327680 is out of range' },
  'the host’s ids': { first: 0, why: 'id 0 is out of range' },
  "another pod's range": { first: unit, why: 'range picked for pod "b" already taken' },
};

for (const [name, { first, length = unit, uid = 'b', why }] of Object.entries(rejected)) {
  test(`IdRanges.record() rejects ${name}`, () => {
    const ranges = new IdRanges(space);
    ranges.record('a', { first: unit, length: unit });
    assert.throws(() => ranges.record(uid, { first, length }), { message: why });
  });
}

test('IdRanges never assigns a range to two pods, and released ranges are reusable', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('take', 'release'), fc.integer({ min: 0, max: 6 })));
  fc.assert(
    fc.property(steps, (script) => {
      const ranges = new IdRanges(space);
      const model = new Map<number, number>();
      for (const [action, pod] of script) {
        if (action === 'release') {
          ranges.release(String(pod));
          model.delete(pod);
        } else if (!model.has(pod)) {
          if (model.size === 4) {
            assert.throws(() => ranges.allocate(String(pod)));
            continue;
          }
          const { first, length } = ranges.allocate(String(pod));
          assert.ok(![...model.values()].includes(first));
          assert.ok(first >= space.first && first + length <= space.first + space.length);
          model.set(pod, first);
        }
      }
    }),
  );
});
