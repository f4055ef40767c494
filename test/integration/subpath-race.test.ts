/** A container that swaps a folder of its volume with a link to a folder of the host while the agent binds subPaths of it. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { attackSubPath, HOST_FILE, type SubPathAttack } from '../csi/sub-path-attack.ts';

const TRIES = 5_000;
const HOST_NAMES = ['file', HOST_FILE, 'sub', `sub/${HOST_FILE}`];
const skip = process.getuid?.() === 0 ? false : 'needs root for mounts';

const attacks: Record<string, Pick<SubPathAttack, 'swapped' | 'path'>> = {
  'the folder itself': { swapped: 'a', path: 'a' },
  'a folder on the way to a folder': { swapped: 'a', path: 'a/sub' },
  'a folder on the way to a file': { swapped: 'a', path: 'a/file' },
  'the parent of a folder to be made': { swapped: 'a', path: 'a/new-%' },
};

suite('a subPath whose volume is changed meanwhile', { skip }, () => {
  test('a bind mount that follows links shows the host: the attack is one', async () => {
    const { escaped } = await attackSubPath({ swapped: 'a', path: 'a/sub', tries: 200, followLinks: true });
    assert.ok(escaped > 0);
  });

  for (const [what, attack] of Object.entries(attacks)) {
    test(`never shows the host when the link replaces ${what}`, async () => {
      const tries = TRIES / Object.keys(attacks).length;
      const { bound, rejected, escaped, hostNames } = await attackSubPath({ ...attack, tries });
      assert.equal(escaped, 0);
      assert.deepEqual(hostNames, HOST_NAMES);
      assert.equal(bound + rejected, tries);
      assert.ok(bound > 0 && rejected > 0, `bound ${bound} times, rejected ${rejected} times`);
    });
  }
});
