/** The contract of random sources. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../../../src/host/fake/seeded-random.ts';
import { linuxRandom } from '../../../src/host/linux/linux-random.ts';
import type { Random } from '../../../src/host/random.ts';

randomContract('linux', () => linuxRandom);
randomContract('seeded', () => new SeededRandom(7));

function randomContract(name: string, makeRandom: () => Random): void {
  test(`${name} random: fractions are spread over [0, 1)`, () => {
    const random = makeRandom();
    const tenths = new Set<number>();
    for (let i = 0; i < 1000; i++) {
      const fraction = random.fraction();
      assert.ok(fraction >= 0 && fraction < 1, String(fraction));
      tenths.add(Math.floor(fraction * 10));
    }
    assert.equal(tenths.size, 10);
  });

  test(`${name} random: the requested number of bytes, different each time`, () => {
    const random = makeRandom();
    const [first, second] = [random.bytes(16), random.bytes(16)];
    assert.deepEqual([first.length, second.length, random.bytes(0).length], [16, 16, 0]);
    assert.notDeepEqual(first, second);
  });
}

test('seeded random: the same seed gives the same numbers, another seed others', () => {
  const sample = (seed: number) => {
    const random = new SeededRandom(seed);
    return [random.fraction(), ...random.bytes(4), random.fraction()];
  };
  assert.deepEqual(sample(42), sample(42));
  assert.notDeepEqual(sample(42), sample(43));
});
