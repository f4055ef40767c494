/** The contract of folder claims. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { MemoryFolderClaims } from '../../../src/host/fake/memory-folder-claims.ts';
import { type FolderClaims, FolderTakenError } from '../../../src/host/folder-claims.ts';
import { linuxFolderClaims } from '../../../src/host/linux/fs/linux-folder-claims.ts';
import { temporaryFolder } from './temporary-folder.ts';

folderClaimsContract('linux', () => linuxFolderClaims);
folderClaimsContract('memory', () => new MemoryFolderClaims());

function folderClaimsContract(name: string, makeClaims: () => FolderClaims): void {
  const pid = name === 'linux' ? process.pid : 1;

  test(`${name} folder claims: a second claim is rejected with the holder of the first`, async (t) => {
    const claims = makeClaims();
    const folder = await temporaryFolder(t);
    await using _ours = await claims.claim(folder, 'agent');
    const message = `${folder} is in use by another agent (pid ${pid})`;
    await assert.rejects(claims.claim(folder, 'image command'), { name: 'FolderTakenError', message });
    await using _other = await claims.claim(await temporaryFolder(t), 'agent');
  });

  test(`${name} folder claims: the error has the use of the folder`, async (t) => {
    const claims = makeClaims();
    const folder = await temporaryFolder(t);
    await using _ours = await claims.claim(folder, 'image command');
    const message = `${folder} is in use by an image command (pid ${pid})`;
    await assert.rejects(claims.claim(folder, 'agent'), { message, holder: { pid, use: 'image command' } });
  });

  test(`${name} folder claims: a released folder can be claimed again`, async (t) => {
    const claims = makeClaims();
    const folder = await temporaryFolder(t);
    {
      await using _first = await claims.claim(folder, 'agent');
    }
    await using _second = await claims.claim(folder, 'agent');
    await assert.rejects(claims.claim(folder, 'agent'), FolderTakenError);
  });
}

test('linux folder claims: the line of a process that was killed names no holder', async (t) => {
  const folder = await temporaryFolder(t);
  await using _ours = await linuxFolderClaims.claim(folder, 'agent');
  writeFileSync(`${folder}/nodelet.lock`, '4194305 image command\n'); // above every pid
  const message = `${folder} is in use by another agent`;
  await assert.rejects(linuxFolderClaims.claim(folder, 'agent'), { message, holder: { pid: undefined, use: 'agent' } });
});
