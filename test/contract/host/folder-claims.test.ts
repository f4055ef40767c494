/** What every implementation of claims on folders promises. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryFolderClaims } from '../../../src/host/fake/memory-folder-claims.ts';
import { type FolderClaims, FolderTakenError } from '../../../src/host/folder-claims.ts';
import { linuxFolderClaims } from '../../../src/host/linux/fs/linux-folder-claims.ts';
import { temporaryFolder } from './temporary-folder.ts';

folderClaimsContract('linux', () => linuxFolderClaims);
folderClaimsContract('memory', () => new MemoryFolderClaims());

function folderClaimsContract(name: string, makeClaims: () => FolderClaims): void {
  test(`${name} folder claims: a folder is one's own, and who asks for it is told whose`, async (t) => {
    const claims = makeClaims();
    const folder = await temporaryFolder(t);
    await using _ours = await claims.claim(folder);
    await assert.rejects(claims.claim(folder), (error) => {
      assert.ok(error instanceof FolderTakenError);
      const pid = name === 'linux' ? process.pid : 1;
      return error.message === `${folder} is in use by another agent (pid ${pid})`;
    });
    await using _other = await claims.claim(await temporaryFolder(t));
  });

  test(`${name} folder claims: a folder that was given up can be had again`, async (t) => {
    const claims = makeClaims();
    const folder = await temporaryFolder(t);
    {
      await using _first = await claims.claim(folder);
    }
    await using _second = await claims.claim(folder);
    await assert.rejects(claims.claim(folder), FolderTakenError);
  });
}
