import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import type { FolderUse } from '../../host/folder-claims.ts';
import { claimRoot, claimState, serveStateSocket } from './claim-folders.ts';
import { fakeImageOperations } from './fake/fake-image-operations.ts';

const FOLDERS = { rootDir: '/var/lib/nodelet', stateDir: '/run/nodelet' };
const never = new AbortController().signal;
const images = Promise.resolve(fakeImageOperations());

/** The two folders, each of which is claimed in its own way; both name the holder. */
const folders: Record<string, (host: MemoryHost, use: FolderUse) => Promise<{ give(): Promise<unknown> }>> = {
  '/run/nodelet': async (host, use) => {
    const server = await serveStateSocket({ host, ...FOLDERS, pid: 1 }, use, images, never);
    return { give: () => server.close() };
  },
  '/var/lib/nodelet': async (host, use) => {
    const claim = await host.folderClaims.claim('/var/lib/nodelet/runtime', use);
    return { give: async () => claim[Symbol.asyncDispose]() };
  },
};

async function given(folder: string, use: FolderUse) {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/run/nodelet');
  await host.fs.makeDirectory('/var/lib/nodelet/runtime');
  const other = await folders[folder]?.(host, use);
  const told: string[] = [];
  const places = { host, ...FOLDERS, pid: 2, waiting: (text: string) => void told.push(text) };
  const claim = (signal: AbortSignal): Promise<unknown> =>
    folder === '/run/nodelet' ? claimState(places, images, signal) : claimRoot(places, 'agent', signal);
  return { host, other: other ?? assert.fail(), told, claim };
}

for (const folder of Object.keys(folders)) {
  test(`an agent is refused ${folder} while another agent has it`, async () => {
    const { claim, told } = await given(folder, 'agent');
    await assert.rejects(claim(never), { message: `${folder} is in use by another agent (pid 1)` });
    assert.deepEqual(told, []);
  });

  test(`an agent waits for an image command that uses ${folder}, and reports it once`, async () => {
    const { claim, host, other, told } = await given(folder, 'image command');
    let isClaimed = false;
    const claimed = claim(never).then(() => {
      isClaimed = true;
    });
    await host.clock.advance(60_000);
    assert.deepEqual([isClaimed, told], [false, [`waiting for an image command (pid 1) that uses ${folder}`]]);
    await other.give();
    await host.clock.runUntil(claimed);
    assert.equal(isClaimed, true);
  });

  test(`a start that waits for ${folder} can be aborted`, async () => {
    const { claim, host } = await given(folder, 'image command');
    const ending = new AbortController();
    const claimed = assert.rejects(claim(ending.signal), /the user ended it/);
    await host.clock.advance(1_000);
    ending.abort(new Error('the user ended it'));
    await claimed;
  });
}
