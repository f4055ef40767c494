import assert from 'node:assert/strict';
import test from 'node:test';
import { claimPod, persistentMachine } from '../../../test/agent/persistent-machine.ts';
import type { PersistentVolumeSpec } from '../../api/generated/core-v1.ts';
import type { ProgramContext } from '../../host/fake/memory-process.ts';

const signal = new AbortController().signal;
const PATH = '/k/pods/u1/volumes/kubernetes.io~local-volume/pv';
const SHARED = '/k/plugins/kubernetes.io/local-volume/mounts/pv';

async function machine(spec: Partial<PersistentVolumeSpec> = {}) {
  const world = await persistentMachine({ local: { path: '/mnt/disk' }, ...spec });
  const { fs, mounts, install } = world;
  await fs.makeDirectory('/mnt/disk', 0o755);
  await fs.makeDirectory('/dev');
  fs.createDevice('/dev/sdb', 'blockDevice', { major: 8, minor: 16 });
  install('mount', async ({ args }: ProgramContext) => {
    const type = args[args.indexOf('-t') + 1] ?? '';
    const [source = '', target = ''] = args.slice(-2);
    await mounts.mount(args.includes('-t') ? { source, target, type } : { source, target, flags: ['bind'] });
    return 0;
  });
  install('blkid', async () => 2);
  install('fsck', async () => 0);
  install('mkfs.ext4', async () => 0);
  return world;
}

test('a local directory is bound for the pod and given to its group', async () => {
  const { fs, mounts, targets, start } = await machine();
  await fs.writeFile('/mnt/disk/file', '', { mode: 0o600 });
  const volumes = start();
  const pod = claimPod('u1', { spec: { securityContext: { fsGroup: 7 } } });
  await volumes.prepare(pod, signal);
  await volumes.prepare(pod, signal);
  assert.deepEqual(await targets(), [PATH]);
  const file = await fs.stat(`${PATH}/file`);
  assert.deepEqual([file?.gid, file?.mode], [7, 0o660]);
  const { path, readOnly, isRelabelled } = volumes.volumes('u1').get('data') ?? {};
  assert.deepEqual({ path, readOnly, isRelabelled }, { path: PATH, readOnly: false, isRelabelled: true });
  await volumes.release(pod, signal);
  assert.deepEqual(await mounts.list().then((all) => all.length), 1);
  assert.equal((await fs.stat('/mnt/disk/file'))?.kind, 'file');
  assert.equal(await fs.lstat(PATH), undefined);
});

test('a second pod of a local volume with another group does not change it, and its event says so', async () => {
  const { fs, recorded, start } = await machine();
  const volumes = start();
  await volumes.prepare(claimPod('u1', { spec: { securityContext: { fsGroup: 7 } } }), signal);
  await volumes.prepare(claimPod('u2', { spec: { securityContext: { fsGroup: 8 } } }), signal);
  assert.equal((await fs.stat('/mnt/disk'))?.gid, 7);
  assert.deepEqual(recorded, [
    'Warning AlreadyMountedVolume: The requested fsGroup is 8, but the volume pv has GID 7. The volume may not be shareable.',
  ]);
});

test('a read-only local volume is bound read-only, and its group stays', async () => {
  const { fs, mounts, start } = await machine();
  const pod = claimPod('u1', {
    spec: {
      securityContext: { fsGroup: 7 },
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data', readOnly: true } }],
    },
  });
  await start().prepare(pod, signal);
  assert.equal((await mounts.list()).find(({ target }) => target === PATH)?.readOnly, true);
  assert.equal((await fs.stat('/mnt/disk'))?.gid, 0);
});

test('options that only mount(8) knows are set by it', async () => {
  const { calls, start } = await machine({ mountOptions: ['noatime', 'nosuid'] });
  await start().prepare(claimPod('u1'), signal);
  assert.deepEqual(calls, [`mount -o bind,noatime,nosuid /mnt/disk ${PATH}`]);
});

test('an empty device is formatted, mounted once for all pods, and unmounted after the last', async () => {
  const { calls, targets, start } = await machine({ local: { path: '/dev/sdb' }, mountOptions: ['noexec'] });
  const volumes = start();
  await volumes.prepare(claimPod('u1'), signal);
  await volumes.prepare(claimPod('u2'), signal);
  assert.deepEqual(calls, [
    'blkid -p -s TYPE -s PTTYPE -o export /dev/sdb',
    'mkfs.ext4 -F -m0 /dev/sdb',
    `mount -t ext4 -o noexec,defaults /dev/sdb ${SHARED}`,
  ]);
  assert.deepEqual(await targets(), [SHARED, PATH, PATH.replace('u1', 'u2')]);
  await volumes.release(claimPod('u1'), signal);
  assert.deepEqual(await targets(), [SHARED, PATH.replace('u1', 'u2')]);
  await start().release(claimPod('u2'), signal); // by a new process
  assert.deepEqual(await targets(), []);
});

const formats: Record<string, { output: string; calls: readonly string[] }> = {
  'another file system': { output: 'DEVNAME=/dev/sdb\nTYPE=xfs\n', calls: ['fsck -a /dev/sdb'] },
  partitions: { output: 'PTTYPE=gpt\n', calls: ['fsck -a /dev/sdb'] },
};
for (const [name, { output, calls: expected }] of Object.entries(formats)) {
  test(`a device with ${name} is checked, never formatted`, async () => {
    const { calls, install, start } = await machine({ local: { path: '/dev/sdb' } });
    install('blkid', async ({ stdout }) => {
      stdout(output);
      return 0;
    });
    await start().prepare(claimPod('u1'), signal);
    assert.deepEqual(calls.slice(1, -1), expected);
    assert.equal(calls.at(-1), `mount -t ext4 -o defaults /dev/sdb ${SHARED}`);
  });
}

test('a device that cannot be mounted, with another file system, is an event of its persistent volume', async () => {
  const { install, recorded, start } = await machine({ local: { path: '/dev/sdb' } });
  install('blkid', async ({ stdout }) => {
    stdout('DEVNAME=/dev/sdb\nTYPE=xfs\n');
    return 0;
  });
  install('mount', async () => 32);
  await assert.rejects(start().prepare(claimPod('u1'), signal));
  assert.equal(recorded.length, 1);
  assert.match(
    recorded[0] ?? '',
    /^PersistentVolume pv: Warning FailedMountOnFilesystemMismatch: MountVolume failed for volume "pv" local: failed to mount device \/dev\/sdb at .* \(fstype: ext4\), error mount failed: exit status 32\n/,
  );
});

const failures: Record<string, { spec: Partial<PersistentVolumeSpec>; message: string }> = {
  'does not exist': {
    spec: { local: { path: '/mnt/none' } },
    message: 'MountVolume.NewMounter initialization failed for volume "pv" : path "/mnt/none" does not exist',
  },
  'is a file': {
    spec: { local: { path: '/mnt/file' } },
    message:
      'MountVolume.NewMounter initialization failed for volume "pv" : only directory and block device are supported',
  },
  'belongs to another node': {
    spec: {
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['node-2'] }] },
          ],
        },
      },
    },
    message: 'MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms',
  },
  'needs a program that is missing': {
    spec: { local: { path: '/dev/sdb', fsType: 'btrfs' } },
    message: `MountVolume.MountDevice failed for volume "pv" : local: failed to mount device /dev/sdb at ${SHARED} (fstype: btrfs), error format of disk "/dev/sdb" failed: type:("btrfs") target:("${SHARED}") options:("defaults") errcode:(exec: "mkfs.btrfs": executable file not found in $PATH) output:() `,
  },
};
for (const [name, { spec, message }] of Object.entries(failures)) {
  test(`a local volume that ${name} is reported as by kubelet`, async () => {
    const { fs, start } = await machine(spec);
    await fs.writeFile('/mnt/file', '');
    await assert.rejects(start().prepare(claimPod('u1'), signal), { reason: 'FailedMount', message });
  });
}

for (const [mode, step] of [
  ['Filesystem', 'MountVolume.SetUp'],
  ['Block', 'MapVolume.SetUpDevice'],
] as const) {
  test(`a volume of mode ${mode} for one pod is refused to a second, until the first is gone`, async () => {
    const path = mode === 'Block' ? '/dev/sdb' : '/mnt/disk';
    const { install, start } = await machine({
      local: { path },
      volumeMode: mode,
      accessModes: ['ReadWriteOncePod'],
    });
    install('losetup', async () => 0);
    const [first, second] = ['u1', 'u2'].map((uid) => claimPod(uid, { isBlock: mode === 'Block' }));
    assert.ok(first && second);
    await start().prepare(first, signal);
    const volumes = start(); // by a new process
    await assert.rejects(volumes.prepare(second, signal), {
      message: `${step} failed for volume "pv" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`,
    });
    await volumes.prepare(first, signal);
    await volumes.release(first, signal);
    await volumes.prepare(second, signal);
  });
}

test('a read-only device is not formatted', async () => {
  const { calls, start } = await machine({ local: { path: '/dev/sdb' } });
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data', readOnly: true } }];
  await assert.rejects(start().prepare(claimPod('u1', { spec: { volumes } }), signal), {
    message: /cannot mount unformatted disk \/dev\/sdb as we are manipulating it in read-only mode$/,
  });
  assert.equal(calls.length, 1);
});

test('a local device of mode Block is mapped for the pod', async () => {
  const { fs, calls, install, targets, start } = await machine({ local: { path: '/dev/sdb' }, volumeMode: 'Block' });
  install('losetup', async ({ args }) => {
    await fs.makeDirectory('/sys/block/loop3/loop');
    if (args[0] === '-f') await fs.writeFile('/sys/block/loop3/loop/backing_file', `${args[1]}\n`);
    else await fs.removeTree('/sys/block/loop3');
    return 0;
  });
  const volumes = start();
  const pod = claimPod('u1', { isBlock: true });
  await volumes.prepare(pod, signal);
  await volumes.prepare(pod, signal);
  const link = '/k/pods/u1/volumeDevices/kubernetes.io~local-volume/pv';
  const globalMapPath = '/k/plugins/kubernetes.io~local-volume/volumeDevices/pv';
  const global = `${globalMapPath}/u1`;
  assert.deepEqual([...volumes.devices('u1')], [['data', { path: link, readOnly: false, globalMapPath }]]);
  assert.equal(await fs.readLink(link), '/dev/sdb');
  assert.deepEqual(await targets(), [global]);
  await volumes.release(pod, signal);
  assert.deepEqual(await targets(), []);
  assert.deepEqual(calls, [`losetup -f ${global}`, 'losetup -d /dev/loop3']);
  assert.equal(await fs.lstat('/k/plugins/kubernetes.io~local-volume/volumeDevices/pv'), undefined);
});
