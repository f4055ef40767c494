import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import type { FolderUse } from '../../host/folder-claims.ts';
import { claimRoot, claimState, serveStateSocket } from './claim-folders.ts';
import { fakeImageOperations } from './fake/fake-image-operations.ts';

const FOLDERS = { rootDir: '/var/lib/nodelet', stateDir: '/run/nodelet' };
const never = new AbortController().signal;
const images = Promise.resolve(fakeImageOperations());

/** Claims each of the two folders in its own way; both name the holder. */
const folders: Record<string, (host: MemoryHost, use: FolderUse) => Promise<{ release(): Promise<unknown> }>> = {
  '/run/nodelet': async (host, use) => {
    const server = await serveStateSocket({ host, ...FOLDERS, pid: 1 }, use, images, never);
    return { release: () => server.close() };
  },
  '/var/lib/nodelet': async (host, use) => {
    const claim = await host.folderClaims.claim('/var/lib/nodelet/runtime', use);
    return { release: async () => claim[Symbol.asyncDispose]() };
  },
};

async function given(folder: string, use: FolderUse) {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/run/nodelet');
  await host.fs.makeDirectory('/var/lib/nodelet/runtime');
  const other = await folders[folder]?.(host, use);
  const waits: string[] = [];
  const claimed = { host, ...FOLDERS, pid: 2, onWaiting: (text: string) => void waits.push(text) };
  const claim = (signal: AbortSignal): Promise<unknown> =>
    folder === '/run/nodelet' ? claimState(claimed, images, signal) : claimRoot(claimed, 'agent', signal);
  return { host, other: other ?? assert.fail(), waits, claim };
}

for (const folder of Object.keys(folders)) {
  test(`an agent cannot claim ${folder} while another agent holds it`, async () => {
    const { claim, waits } = await given(folder, 'agent');
    await assert.rejects(claim(never), { message: `${folder} is in use by another agent (pid 1)` });
    assert.deepEqual(waits, []);
  });

  test(`an agent waits for an image command that uses ${folder}, and reports that once`, async () => {
    const { claim, host, other, waits } = await given(folder, 'image command');
    let isClaimed = false;
    const claimed = claim(never).then(() => {
      isClaimed = true;
    });
    await host.clock.advance(60_000);
    assert.deepEqual([isClaimed, waits], [false, [`waiting for an image command (pid 1) that uses ${folder}`]]);
    await other.release();
    await host.clock.runUntil(claimed);
    assert.equal(isClaimed, true);
  });

  test(`waiting for ${folder} can be aborted`, async () => {
    const { claim, host } = await given(folder, 'image command');
    const ending = new AbortController();
    const claimed = assert.rejects(claim(ending.signal), /aborted by the user/);
    await host.clock.advance(1_000);
    ending.abort(new Error('aborted by the user'));
    await claimed;
  });
}
