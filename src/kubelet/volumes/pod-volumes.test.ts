import assert from 'node:assert/strict';
import test from 'node:test';
import type { HostPathVolumeSource, Pod, PodSpec, Volume } from '../../api/generated/core-v1.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { MemoryMounts } from '../../host/fake/memory-mounts.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { memoryVolumeBytes } from './empty-dir.ts';
import { PodVolumes } from './pod-volumes.ts';

const signal = new AbortController().signal;
const settings = { rootDir: '/k', memoryCapacityBytes: 1024 ** 3 };
const volumesDir = '/k/pods/u1/volumes/kubernetes.io~empty-dir';

async function machine(tmpfsNoswap = false) {
  const fs = new MemoryFileSystem(() => 0);
  const mounts = new MemoryMounts(fs);
  await fs.makeDirectory('/srv/folder');
  await fs.writeFile('/srv/file', 'content', { mode: 0o600 });
  fs.createSocket('/srv/socket', 0o600);
  return { fs, mounts, volumes: new PodVolumes({ fs, mounts, settings, tmpfsNoswap }) };
}

function podWith(volumes: readonly Volume[], spec: Partial<PodSpec> = {}): Pod {
  return examplePod({ spec: { volumes, ...spec } });
}

const disk = { name: 'disk', emptyDir: {} };
const memory = { name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } };

test('PodVolumes makes an empty folder that everybody may write to', async () => {
  const { fs, volumes } = await machine();
  await volumes.prepare(podWith([disk]), signal);
  assert.deepEqual([...volumes.paths('u1')], [['disk', `${volumesDir}/disk`]]);
  assert.equal((await fs.stat(`${volumesDir}/disk`))?.mode, 0o777);
});

test('PodVolumes gives the folder to the pod’s group once, and leaves it alone from then on', async () => {
  const { fs, volumes } = await machine();
  const pod = podWith([disk], { securityContext: { fsGroup: 2000 } });
  await volumes.prepare(pod, signal);
  const folder = await fs.stat(`${volumesDir}/disk`);
  assert.deepEqual([folder?.gid, folder?.mode], [2000, 0o2777]);

  await fs.changeMode(`${volumesDir}/disk`, 0o700);
  await fs.writeFile(`${volumesDir}/disk/data`, 'kept');
  await volumes.prepare(pod, signal);
  assert.equal((await fs.stat(`${volumesDir}/disk`))?.mode, 0o700);
  assert.equal(await fs.readText(`${volumesDir}/disk/data`), 'kept');
});

test('PodVolumes mounts memory once, and unmounts it at the end', async () => {
  const { fs, mounts, volumes } = await machine();
  const pod = podWith([memory, disk]);
  await volumes.prepare(pod, signal);
  await volumes.prepare(pod, signal);
  const targets = (await mounts.list()).filter(({ type }) => type === 'tmpfs').map(({ target }) => target);
  assert.deepEqual(targets, [`${volumesDir}/mem`]);

  await volumes.release(pod, signal);
  await volumes.release(pod, signal);
  assert.equal(
    (await mounts.list()).some(({ target }) => target.startsWith('/k/')),
    false,
  );
  assert.equal(await fs.stat('/k/pods/u1/volumes'), undefined);
  assert.equal(await fs.stat('/k/pods/u1/plugins'), undefined);
});

test('PodVolumes asks for memory out of swap where the kernel can', async () => {
  const { fs, volumes } = await machine(true);
  const requests: unknown[] = [];
  const recording = {
    mount: async (request: unknown) => void requests.push(request),
    list: async () => [],
    unmount: async () => undefined,
  };
  await new PodVolumes({ fs, mounts: recording, settings, tmpfsNoswap: true }).prepare(podWith([memory]), signal);
  assert.deepEqual(requests, [
    { source: 'tmpfs', target: `${volumesDir}/mem`, type: 'tmpfs', data: 'size=8388608,noswap' },
  ]);
  assert.deepEqual([...volumes.paths('u1')], []);
});

const sizes: Record<string, { spec: Partial<PodSpec>; sizeLimit?: string; bytes: bigint }> = {
  'what the node has': { spec: {}, bytes: 1_073_741_824n },
  'its own limit': { spec: {}, sizeLimit: '8Mi', bytes: 8_388_608n },
  'no more than the node has': { spec: {}, sizeLimit: '8Gi', bytes: 1_073_741_824n },
  'the pod’s limit': {
    spec: { containers: [{ name: 'web', resources: { limits: { memory: '4Mi' } } }] },
    sizeLimit: '8Mi',
    bytes: 4_194_304n,
  },
};

for (const [what, { spec, sizeLimit, bytes }] of Object.entries(sizes)) {
  test(`memoryVolumeBytes() is ${what}`, () => {
    assert.equal(memoryVolumeBytes(examplePod({ spec }), { medium: 'Memory', sizeLimit }, 1024 ** 3), bytes);
  });
}

const hostPaths: Record<string, { source: HostPathVolumeSource; fault?: string }> = {
  'anything without a type': { source: { path: '/not/there' } },
  'a folder': { source: { path: '/srv/folder', type: 'Directory' } },
  'a file': { source: { path: '/srv/file', type: 'File' } },
  'a file that may be made and is there': { source: { path: '/srv/file', type: 'FileOrCreate' } },
  'a socket': { source: { path: '/srv/socket', type: 'Socket' } },
  'no file for a folder': {
    source: { path: '/srv/file', type: 'Directory' },
    fault: 'hostPath type check failed: /srv/file is not a directory',
  },
  'no file for a folder that may be made': {
    source: { path: '/srv/file', type: 'DirectoryOrCreate' },
    fault: 'hostPath type check failed: /srv/file is not a directory',
  },
  'no folder for a file': {
    source: { path: '/srv/folder', type: 'File' },
    fault: 'hostPath type check failed: /srv/folder is not a file',
  },
  'nothing that is missing': {
    source: { path: '/srv/nope', type: 'Socket' },
    fault: 'hostPath type check failed: /srv/nope is not a socket file',
  },
  'no other device': {
    source: { path: '/srv/file', type: 'CharDevice' },
    fault: 'hostPath type check failed: /srv/file is not a character device',
  },
  'no block device': {
    source: { path: '/srv/file', type: 'BlockDevice' },
    fault: 'hostPath type check failed: /srv/file is not a block device',
  },
  'no unknown type': { source: { path: '/srv/file', type: 'Pipe' }, fault: 'Pipe is an invalid volume type' },
  'no way up': { source: { path: '/srv/../etc' }, fault: "invalid HostPath `/srv/../etc`: must not contain '..'" },
};

for (const [what, { source, fault }] of Object.entries(hostPaths)) {
  test(`PodVolumes takes ${what} of the host`, async () => {
    const { volumes } = await machine();
    const prepared = volumes.prepare(podWith([{ name: 'host', hostPath: source }]), signal);
    if (fault === undefined) {
      await prepared;
      assert.equal(volumes.paths('u1').get('host'), source.path);
    } else {
      const message = `MountVolume.SetUp failed for volume "host" : ${fault}`;
      await assert.rejects(prepared, { reason: 'FailedMount', message });
    }
  });
}

test('PodVolumes makes what a hostPath says may be made', async () => {
  const { fs, volumes } = await machine();
  const made = [
    { name: 'a', hostPath: { path: '/srv/new/folder', type: 'DirectoryOrCreate' } },
    { name: 'b', hostPath: { path: '/srv/new/file', type: 'FileOrCreate' } },
  ];
  await volumes.prepare(podWith(made), signal);
  assert.equal((await fs.stat('/srv/new/folder'))?.kind, 'directory');
  assert.equal((await fs.stat('/srv/new/file'))?.mode, 0o644);
  await volumes.release(podWith(made), signal);
  assert.equal(await fs.readText('/srv/file'), 'content');
});
