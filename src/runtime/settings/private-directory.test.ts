import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { makePrivateDirectory } from './private-directory.ts';

const range = { containerId: 0, hostId: 100_000, length: 65_536 };
const cases = {
  'root alone': { idMap: undefined, want: { mode: 0o700, uid: 0, gid: 0 } },
  'root and the root of the pod’s user namespace': {
    idMap: { uids: [range], gids: [{ ...range, hostId: 200_000 }] },
    want: { mode: 0o710, uid: 0, gid: 200_000 },
  },
};
for (const [name, { idMap, want }] of Object.entries(cases)) {
  test(`makePrivateDirectory() gives ${name} access`, async () => {
    const { fs } = createMemoryHost();
    await makePrivateDirectory('/run/pods/a', idMap, fs);
    await makePrivateDirectory('/run/pods/a', idMap, fs);
    const { mode, uid, gid } = (await fs.lstat('/run/pods/a')) ?? {};
    assert.deepEqual({ mode, uid, gid }, want);
  });
}
