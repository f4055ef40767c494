import { runInput } from './fuzz-run.ts';
import type { FuzzTarget } from './fuzz-target.ts';

const MAX_ATTEMPTS = 3000;

/** Removes bytes, and replaces them by simpler ones, as long as the same failure remains. */
export async function shrinkInput(target: FuzzTarget, input: Uint8Array, kind: string): Promise<Uint8Array> {
  let attempts = 0;
  const stillFails = async (candidate: Uint8Array): Promise<boolean> => {
    if (++attempts > MAX_ATTEMPTS) return false;
    const outcome = await runInput(target, candidate);
    return outcome.result === 'failed' && outcome.kind === kind;
  };
  let smallest = await withoutRanges(input, stillFails);
  for (let at = 0; at < smallest.length && attempts <= MAX_ATTEMPTS; at++) {
    if (smallest[at] === 0x61) continue;
    const simpler = smallest.slice();
    simpler[at] = 0x61;
    if (await stillFails(simpler)) smallest = simpler;
  }
  return smallest;
}

async function withoutRanges(
  input: Uint8Array,
  stillFails: (candidate: Uint8Array) => Promise<boolean>,
): Promise<Uint8Array> {
  let smallest = input;
  for (
    let length = 2 ** Math.ceil(Math.log2(Math.max(1, input.length)));
    length >= 1;
    length = Math.floor(length / 2)
  ) {
    for (let at = 0; at < smallest.length; ) {
      const candidate = new Uint8Array(Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + length)]));
      if (await stillFails(candidate)) smallest = candidate;
      else at += length;
    }
  }
  return smallest;
}
