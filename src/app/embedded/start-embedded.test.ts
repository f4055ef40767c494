import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { makeStateFolder } from './start-embedded.ts';

const modes: Record<string, { before: number | undefined; after: number }> = {
  'is made for pods to pass through': { before: undefined, after: 0o711 },
  'of an older version is opened for them': { before: 0o700, after: 0o711 },
  'that others may read stays so': { before: 0o755, after: 0o755 },
};
for (const [what, { before, after }] of Object.entries(modes)) {
  test(`the state folder ${what}`, async () => {
    const { fs } = createMemoryHost();
    if (before !== undefined) await fs.makeDirectory('/run/nodelet', before);
    await makeStateFolder('/run/nodelet', fs);
    assert.equal((await fs.stat('/run/nodelet'))?.mode, after);
  });
}
