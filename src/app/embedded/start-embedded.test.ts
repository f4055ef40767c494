import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { makeStateFolder, mayRaiseLimits } from './start-embedded.ts';

const modes: Record<string, { before: number | undefined; after: number }> = {
  'is created traversable for pods': { before: undefined, after: 0o711 },
  'of an older version becomes traversable': { before: 0o700, after: 0o711 },
  'that others may read keeps its mode': { before: 0o755, after: 0o755 },
};
for (const [what, { before, after }] of Object.entries(modes)) {
  test(`the state folder ${what}`, async () => {
    const { fs } = createMemoryHost();
    if (before !== undefined) await fs.makeDirectory('/run/nodelet', before);
    await makeStateFolder('/run/nodelet', fs);
    assert.equal((await fs.stat('/run/nodelet'))?.mode, after);
  });
}

const capabilities: ReadonlyArray<readonly [status: string, may: boolean]> = [
  ['Name:\tnode\nCapEff:\t000001ffffffffff\n', true],
  ['Name:\tnode\nCapEff:\t000001fffeffffff\n', false],
  ['Name:\tnode\nCapEff:\t0000000001000000\n', true],
  ['Name:\tnode\n', false],
];

for (const [status, may] of capabilities) {
  test(`mayRaiseLimits() is ${may} for ${JSON.stringify(status)}`, () => {
    assert.equal(mayRaiseLimits(status), may);
  });
}
