import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { changed } from './mutated-sources.ts';
import { MUTATIONS } from './mutations.ts';
import { planWorld } from './plan-world.ts';
import { runWorld } from './run-world.ts';

const ROOT = new URL('../../', import.meta.url);
const SMALL = { pods: 12, hours: 0.8 };

for (let seed = 1; seed <= 8; seed++) {
  test(`no invariant is violated in the world of seed ${seed}`, async () => {
    const { violation, lines } = await runWorld(planWorld(seed, SMALL));
    assert.equal(violation, undefined, lines.slice(-40).join('\n'));
  });
}

test('the same seed gives the same trace, and a different seed a different one', async () => {
  const hashOf = async (seed: number): Promise<string> => (await runWorld(planWorld(seed, SMALL))).hash;
  const first = await hashOf(3);
  assert.equal(await hashOf(3), first);
  assert.notEqual(await hashOf(4), first);
});

test('every mutation changes a text that its file contains once', () => {
  for (const { changes } of MUTATIONS) {
    for (const change of changes) changed(readFileSync(new URL(change.file, ROOT), 'utf8'), change);
  }
});
