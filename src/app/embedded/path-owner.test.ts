import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { endpointError, ownerError, requireOwnFolder } from './path-owner.ts';

const CASES: Record<string, { uid?: number; gid?: number; mode: number; error: string | undefined }> = {
  'a private folder': { mode: 0o700, error: undefined },
  'a folder that others may enter': { mode: 0o711, error: undefined },
  'a folder that the group of root may write': { mode: 0o770, error: undefined },
  'a folder of another user': {
    ...{ uid: 1000, mode: 0o700 },
    error: '/f is owned by user 1000, not by root; fix it with: chown root /f',
  },
  'a folder that all users may write': {
    mode: 0o1777,
    error: '/f is writable by all users (mode 1777); fix it with: chmod o-w /f',
  },
  'a folder that another group may write': {
    ...{ gid: 1000, mode: 0o770 },
    error: '/f is writable by group 1000 (mode 0770); fix it with: chmod g-w /f',
  },
};

for (const [name, { uid = 0, gid = 0, mode, error }] of Object.entries(CASES)) {
  test(`ownerError() ${error === undefined ? 'accepts' : 'rejects'} ${name}`, () => {
    assert.equal(ownerError('/f', { uid, gid, mode }), error);
  });
}

test('requireOwnFolder() rejects a folder that others may change, with the fix', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/run/nodelet', 0o711);
  await requireOwnFolder(fs, '/run/nodelet');
  await requireOwnFolder(fs, '/run/none');
  await fs.changeMode('/run/nodelet', 0o777);
  await assert.rejects(requireOwnFolder(fs, '/run/nodelet'), {
    name: 'StartupError',
    message:
      'cannot use /run/nodelet: /run/nodelet is writable by all users (mode 0777); fix it with: chmod o-w /run/nodelet',
  });
});

test('endpointError() accepts a group that may use the socket, and no other user', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/run');
  await fs.writeFile('/run/cri.sock', '');
  await fs.changeMode('/run/cri.sock', 0o660);
  await fs.changeOwner('/run/cri.sock', 0, 1000);
  assert.equal(await endpointError(fs, 'unix:///run/cri.sock'), undefined);
  assert.equal(await endpointError(fs, 'unix:///run/none.sock'), undefined);
  await fs.changeMode('/run/cri.sock', 0o666);
  assert.match((await endpointError(fs, 'unix:///run/cri.sock')) ?? '', /writable by all users/);
});
