import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Draw } from '../sim/draw.ts';
import { readCorpus } from './corpus.ts';
import { fuzzTarget, runInput } from './fuzz-run.ts';
import { fixedPumps, growthFailure, randomPump } from './growth.ts';
import { TARGETS } from './targets.ts';

const SEED = 20_261_116;
const INPUTS = 500;
const GROWTH_CHECKS = 1;

describe('fuzz targets', () => {
  for (const target of TARGETS) {
    const kept = readCorpus(target.name);

    it(`${target.name}: seeds and kept inputs`, async () => {
      for (const input of target.seeds) assert.deepEqual(await failureOf(input), undefined);
      for (const { name, input } of kept) assert.deepEqual(await failureOf(input), undefined, name);
    });

    it(`${target.name}: mutated inputs`, async () => {
      const corpus = kept.map(({ input }) => input);
      const { failure } = await fuzzTarget(target, corpus, SEED, (inputs) => inputs >= (target.testInputs ?? INPUTS));
      const shown = failure ? `${failure.kind}: ${Buffer.from(failure.input).toString('base64')}` : '';
      assert.equal(shown, '');
    });

    it(`${target.name}: the work grows with the input, not faster`, async () => {
      const draw = new Draw(SEED, `${target.name} growth`);
      const random = target.seeds.slice(0, GROWTH_CHECKS).map((sample) => randomPump(target, sample, draw));
      for (const pumped of [...fixedPumps(target), ...random]) {
        assert.equal((await growthFailure(target, pumped))?.kind, undefined);
      }
    });

    async function failureOf(input: Uint8Array): Promise<unknown> {
      const outcome = await runInput(target, input);
      return outcome.result === 'failed' ? outcome.error : undefined;
    }
  }
});
