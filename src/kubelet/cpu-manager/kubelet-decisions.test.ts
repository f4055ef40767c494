import assert from 'node:assert/strict';
import { test } from 'node:test';
import recorded from '../../../test/data/managers/cpu.json' with { type: 'json' };
import { placeSequence } from '../../../test/managers/cpu/place-sequence.ts';
import { digestOf, drawSequence } from '../../../test/managers/cpu/pod-sequences.ts';

/** `make cpu-decisions` shows how decisions differ, and compares more of them. */
const digests = recorded.digests.split(' ');

for (const [index, decisions] of recorded.inFull.entries()) {
  const sequence = drawSequence(index + 1);
  const options = Object.keys(sequence.options).join(', ') || 'no options';
  test(`pods on ${sequence.machine} with ${options} get the CPUs and hints of kubelet (seed ${index + 1})`, async () => {
    assert.deepEqual(await placeSequence(sequence), decisions);
  });
}

test(`${digests.length} more sequences of pods get the CPUs and hints of kubelet`, async () => {
  assert.ok(digests.length > 500);
  const differing: number[] = [];
  for (const [index, digest] of digests.entries()) {
    const seed = recorded.inFull.length + index + 1;
    if (digestOf(await placeSequence(drawSequence(seed))) !== digest) differing.push(seed);
  }
  assert.deepEqual(differing, []);
});
