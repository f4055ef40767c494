/** Local persistent volumes on the real machine without a runtime: directories, and file systems of loop devices. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { PersistentVolumeSpec, Pod, PodSpec } from '../../src/api/generated/core-v1.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { linuxMounts } from '../../src/host/linux/mount/linux-mounts.ts';
import { PodEvents } from '../../src/kubelet/events/pod-events.ts';
import { ManifestObjects } from '../../src/kubelet/objects/manifest-objects.ts';
import { PodVolumes } from '../../src/kubelet/volumes/pod-volumes.ts';
import { volumeDeps } from '../../src/kubelet/volumes/volumes.fixture.ts';
import { podOf } from '../agent/memory-agent.ts';
import { needsMounts } from '../contract/host/temporary-folder.ts';

const signal = new AbortController().signal;
const DISK_BYTES = 16 * 1024 * 1024;

async function machine(t: TestContext, spec: (folder: string) => PersistentVolumeSpec) {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-local-'));
  const mountsHere = async () => (await linuxMounts.list()).filter(({ target }) => target.startsWith(`${folder}/`));
  t.after(async () => {
    for (const { target } of (await mountsHere()).toReversed()) await linuxMounts.unmount(target, { lazy: true });
    rmSync(folder, { recursive: true, force: true });
  });
  const rootDir = join(folder, 'kubelet');
  mkdirSync(rootDir);
  const host = createLinuxHost(process.env);
  const events = new PodEvents(host.clock);
  const recorded: string[] = [];
  events.subscribe((_, { reason, message }) => recorded.push(`${reason}: ${message}`));
  const objects = new ManifestObjects({ onChange: () => undefined });
  const volume = { metadata: { name: 'pv' }, spec: spec(folder) };
  const claims = {
    wakesPods: true,
    find: async ({ metadata: { namespace } }: Pod, name: string) => ({
      claim: { metadata: { name, namespace }, spec: {} },
      volume,
    }),
  };
  const start = () => new PodVolumes({ ...volumeDeps(host, { rootDir, objects, events }), claims });
  return { folder, rootDir, recorded, mountsHere, start };
}

function claimPod(name: string, use: 'volumeMounts' | 'volumeDevices', spec: Partial<PodSpec> = {}): Pod {
  const container =
    use === 'volumeMounts'
      ? { volumeMounts: [{ name: 'data', mountPath: '/data' }] }
      : { volumeDevices: [{ name: 'data', devicePath: '/dev/data' }] };
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  return podOf(name, { volumes, containers: [{ name: 'main', ...container }], ...spec });
}

/** A loop device of an empty file; skips the test on a machine without them. */
function loopDevice(t: TestContext): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-disk-'));
  const file = join(folder, 'disk');
  writeFileSync(file, '');
  truncateSync(file, DISK_BYTES);
  try {
    const device = execFileSync('losetup', ['-f', '--show', file], { encoding: 'utf8', stdio: 'pipe' }).trim();
    t.after(() => {
      execFileSync('losetup', ['-d', device]);
      rmSync(folder, { recursive: true });
    });
    return device;
  } catch (error) {
    rmSync(folder, { recursive: true });
    t.skip(`no loop device: ${error instanceof Error ? error.message : ''}`);
    return undefined;
  }
}

const skip = needsMounts;

test('a local directory is shared by two pods, with the group of the first', { skip }, async (t) => {
  const { folder, recorded, mountsHere, start } = await machine(t, (at) => ({ local: { path: join(at, 'disk') } }));
  mkdirSync(join(folder, 'disk'));
  writeFileSync(join(folder, 'disk/file'), 'kept', { mode: 0o600 });
  const first = claimPod('one', 'volumeMounts', { securityContext: { fsGroup: 2000 } });
  const second = claimPod('two', 'volumeMounts', { securityContext: { fsGroup: 3000 } });
  const volumes = start();
  await volumes.prepare(first, signal);
  await volumes.prepare(second, signal);
  const path = volumes.volumes(second.metadata.uid).get('data')?.path ?? '';
  const { gid, mode } = statSync(join(path, 'file'));
  assert.deepEqual([gid, mode & 0o7777], [2000, 0o660]);
  assert.deepEqual(recorded, [
    'AlreadyMountedVolume: The requested fsGroup is 3000, but the volume pv has GID 2000. The volume may not be shareable.',
  ]);
  for (const pod of [first, second]) await start().release(pod, signal);
  assert.deepEqual(await mountsHere(), []);
  assert.equal(readFileSync(join(folder, 'disk/file'), 'utf8'), 'kept');
});

test('a loop device is formatted once, keeps its data, and is unmounted after its last pod', { skip }, async (t) => {
  const device = loopDevice(t);
  if (device === undefined) return;
  const { rootDir, mountsHere, start } = await machine(t, () => ({ local: { path: device } }));
  const pod = claimPod('one', 'volumeMounts', { securityContext: { fsGroup: 2000 } });
  const volumes = start();
  await volumes.prepare(pod, signal);
  const shared = join(rootDir, 'plugins/kubernetes.io/local-volume/mounts/pv');
  const path = volumes.volumes(pod.metadata.uid).get('data')?.path ?? '';
  assert.deepEqual(
    (await mountsHere()).map(({ target, type, source }) => [target, type, source]),
    [
      [shared, 'ext4', device],
      [path, 'ext4', device],
    ],
  );
  writeFileSync(join(path, 'file'), 'kept');
  assert.equal(statSync(join(path, 'file')).gid, 2000);
  await start().release(pod, signal); // as after a restart of the agent
  assert.deepEqual(await mountsHere(), []);

  const again = start();
  await again.prepare(pod, signal);
  assert.equal(readFileSync(join(path, 'file'), 'utf8'), 'kept');
  await again.release(pod, signal);
  assert.deepEqual(await mountsHere(), []);
});

test('a device with partitions is not formatted', { skip }, async (t) => {
  const device = loopDevice(t);
  if (device === undefined) return;
  // The protective boot record of a partition table: one partition of type 0xee.
  const record = new Uint8Array(512);
  record.set([0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xff, 0x7f, 0, 0], 446);
  record.set([0x55, 0xaa], 510);
  writeFileSync(device, record);
  const { mountsHere, start } = await machine(t, () => ({ local: { path: device } }));
  const prepared = start().prepare(claimPod('one', 'volumeMounts'), signal);
  await assert.rejects(prepared, {
    reason: 'FailedMount',
    message: /^MountVolume\.MountDevice failed for volume "pv"/,
  });
  assert.deepEqual([...readFileSync(device).subarray(446, 512)], [...record.subarray(446)]);
  assert.deepEqual(await mountsHere(), []);
});

test('a loop device of mode Block is mapped and kept open', { skip }, async (t) => {
  const device = loopDevice(t);
  if (device === undefined) return;
  const { rootDir, mountsHere, start } = await machine(t, () => ({ local: { path: device }, volumeMode: 'Block' }));
  const pod = claimPod('one', 'volumeDevices');
  const volumes = start();
  await volumes.prepare(pod, signal);
  await volumes.prepare(pod, signal);
  const link = volumes.devices(pod.metadata.uid).get('data')?.path ?? '';
  assert.equal(link, join(rootDir, 'pods', pod.metadata.uid, 'volumeDevices/kubernetes.io~local-volume/pv'));
  assert.equal(statSync(link).rdev, statSync(device).rdev);
  const global = join(rootDir, 'plugins/kubernetes.io~local-volume/volumeDevices/pv', pod.metadata.uid);
  const loops = () =>
    execFileSync('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE'], { encoding: 'utf8' });
  assert.ok(loops().includes(global), loops());
  await start().release(pod, signal);
  assert.deepEqual(await mountsHere(), []);
  assert.ok(!loops().includes(global), loops());
});
