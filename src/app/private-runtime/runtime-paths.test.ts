import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bridgeName, DEFAULT_ROOT_DIR, runtimePaths, socketPathFault } from './runtime-paths.ts';

test('bridgeName() is plain for the default folder and unique elsewhere', () => {
  assert.deepEqual(
    [bridgeName(DEFAULT_ROOT_DIR), bridgeName('/srv/a'), bridgeName('/srv/b')],
    ['nodelet0', 'nl-b068a6cef8', 'nl-6294551d7d'],
  );
});

test('socketPathFault() counts the longest socket that containerd makes', () => {
  const faultOf = (stateDirBytes: number): string | undefined =>
    socketPathFault(runtimePaths({ rootDir: '/r', stateDir: `/${'s'.repeat(stateDirBytes - 1)}` }));
  const added = '/containerd/containerd.sock.ttrpc'.length;
  assert.equal(faultOf(107 - added), undefined);
  assert.match(faultOf(109 - added) ?? '', /is 2 bytes too long; choose a shorter state folder$/);
});
