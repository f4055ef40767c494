import assert from 'node:assert/strict';
import test from 'node:test';
import type { PodSecurityContext } from '../../api/generated/core-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { FileStat, FileSystem, GroupAccess } from '../../host/file-system.ts';
import { PodEvents } from '../events/pod-events.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { applyFsGroup, belongsToGroup } from './fs-group.ts';

const signal = new AbortController().signal;
const PATH = '/k/pods/u1/volumes/kubernetes.io~csi/pv-1/mount';

async function machine() {
  const { fs, clock } = createMemoryHost();
  await fs.makeDirectory(`${PATH}/folder`, 0o755);
  await fs.writeFile(`${PATH}/file`, '', { mode: 0o600 });
  const events = new PodEvents(clock);
  const recorded: string[] = [];
  events.subscribe((_, { type, reason, message }) => recorded.push(`${type} ${reason}: ${message}`));
  const show = async (path: string): Promise<string> => {
    const found = await fs.stat(path);
    return `${found?.gid} ${found?.mode.toString(8)}`;
  };
  return { fs, clock, events, recorded, show };
}

const podOf = (securityContext: PodSecurityContext) => examplePod({ spec: { securityContext } });

test('applyFsGroup gives all files to the group of the pod', async () => {
  const { show, ...deps } = await machine();
  await applyFsGroup(deps, PATH, { pod: podOf({ fsGroup: 7 }), access: 'write' }, signal);
  assert.deepEqual(await Promise.all([PATH, `${PATH}/folder`, `${PATH}/file`].map(show)), [
    '7 2775',
    '7 2775',
    '7 660',
  ]);
});

test('applyFsGroup lets the group read the files of a read-only volume', async () => {
  const { show, ...deps } = await machine();
  await applyFsGroup(deps, PATH, { pod: podOf({ fsGroup: 7 }), access: 'read' }, signal);
  assert.deepEqual(await Promise.all([PATH, `${PATH}/file`].map(show)), ['7 2755', '7 640']);
});

test('applyFsGroup changes nothing for a pod without a group', async () => {
  const { show, ...deps } = await machine();
  await applyFsGroup(deps, PATH, { pod: podOf({}), access: 'write' }, signal);
  assert.equal(await show(`${PATH}/file`), '0 600');
});

test('applyFsGroup with OnRootMismatch leaves the files of a root that belongs to the group', async () => {
  const { show, ...deps } = await machine();
  await deps.fs.changeOwner(PATH, 0, 7);
  const request = { pod: podOf({ fsGroup: 7, fsGroupChangePolicy: 'OnRootMismatch' }), access: 'write' } as const;
  await deps.fs.changeMode(PATH, 0o2770);
  await applyFsGroup(deps, PATH, request, signal);
  assert.equal(await show(`${PATH}/file`), '0 600');
  await deps.fs.changeMode(PATH, 0o770);
  await applyFsGroup(deps, PATH, request, signal);
  assert.equal(await show(`${PATH}/file`), '7 660');
});

const root = { kind: 'directory', gid: 7, mode: 0o2775 } as FileStat;
const mismatches: Record<string, FileStat | undefined> = {
  'is missing': undefined,
  'is a file': { ...root, kind: 'file' },
  'has another group': { ...root, gid: 8 },
  'has no setgid bit': { ...root, mode: 0o775 },
  'cannot be written': { ...root, mode: 0o2755 },
};
for (const [name, found] of Object.entries(mismatches)) {
  test(`a root that ${name} does not belong to the group`, () => {
    assert.equal(belongsToGroup(found, 7, 'write'), false);
    assert.equal(belongsToGroup(found, 7, 'read'), name === 'cannot be written');
  });
}

test('applyFsGroup reports a slow change after 30 seconds, then each minute, until it is done', async () => {
  const { fs, clock, events, recorded } = await machine();
  const started = Promise.withResolvers<GroupAccess>();
  const done = Promise.withResolvers<void>();
  const setTreeGroup: FileSystem['setTreeGroup'] = (_, access) => {
    started.resolve(access);
    return done.promise;
  };
  const slow = Object.assign(Object.create(fs) as FileSystem, { setTreeGroup });
  const applied = applyFsGroup(
    { fs: slow, clock, events },
    PATH,
    { pod: podOf({ fsGroup: 7 }), access: 'write' },
    signal,
  );
  const { onProgress } = await started.promise;
  await clock.advance(29_999);
  assert.deepEqual(recorded, []);
  await clock.advance(1);
  const name = 'u1/volumes/kubernetes.io~csi/pv-1/mount';
  const advice =
    'consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';
  const slowly = `Warning VolumePermissionChangeInProgress: Setting volume ownership for ${name}`;
  assert.deepEqual(recorded.splice(0), [`${slowly} is taking longer than expected, ${advice}`]);
  onProgress?.(1234);
  await clock.advance(60_000);
  assert.deepEqual(recorded.splice(0), [`${slowly}, processed 1234 files.`]);
  done.resolve();
  await applied;
  await clock.advance(600_000);
  assert.deepEqual(recorded, []);
});

test('applyFsGroup ends with its signal', async () => {
  const { show, ...deps } = await machine();
  const aborted = AbortSignal.abort(new Error('enough'));
  const applied = applyFsGroup(deps, PATH, { pod: podOf({ fsGroup: 7 }), access: 'write' }, aborted);
  await assert.rejects(applied, { message: 'enough' });
});
