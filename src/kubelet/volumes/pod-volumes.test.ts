import assert from 'node:assert/strict';
import test from 'node:test';
import type { EmptyDirVolumeSource, HostPathVolumeSource, Pod, PodSpec, Volume } from '../../api/generated/core-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { MountRequest } from '../../host/mounts.ts';
import { PodEvents } from '../events/pod-events.ts';
import { ManifestObjects } from '../objects/manifest-objects.ts';
import { NO_OBJECTS } from '../sources/source-objects.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { memoryVolumeBytes } from './empty-dir.ts';
import { PodVolumes, type PodVolumesDeps } from './pod-volumes.ts';
import { volumeDeps } from './volumes.fixture.ts';

const signal = new AbortController().signal;
const volumesDir = '/k/pods/u1/volumes/kubernetes.io~empty-dir';

async function machine(given: Partial<PodVolumesDeps> = {}) {
  const host = createMemoryHost();
  const { fs, mounts, clock } = host;
  await fs.makeDirectory('/srv/folder');
  await fs.writeFile('/srv/file', 'content', { mode: 0o600 });
  fs.createSocket('/srv/socket', 0o600);
  const objects = new ManifestObjects({ onChange: () => undefined });
  objects.set('file', NO_OBJECTS);
  const events = new PodEvents(clock);
  const recorded: string[] = [];
  events.subscribe((_, { type, reason, message }) => recorded.push(`${type} ${reason}: ${message}`));
  const deps = { ...volumeDeps(host, { rootDir: '/k', objects, events }), ...given };
  return { fs, mounts, objects, recorded, volumes: new PodVolumes(deps) };
}

/** Host paths by volume name. */
function pathsByName(volumes: PodVolumes): Record<string, string | undefined> {
  return Object.fromEntries([...volumes.volumes('u1')].map(([name, { path }]) => [name, path]));
}

/** A pod whose containers mount all volumes. */
function podWith(volumes: readonly Volume[], spec: Partial<PodSpec> = {}): Pod {
  const pod = examplePod({ spec: { volumes, ...spec } });
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const containers = pod.spec.containers.map((container) => ({ ...container, volumeMounts }));
  return { ...pod, spec: { ...pod.spec, containers } };
}

const disk = { name: 'disk', emptyDir: {} };
const memory = { name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } };

test('PodVolumes creates an empty directory that is writable for all', async () => {
  const { fs, volumes } = await machine();
  await volumes.prepare(podWith([disk]), signal);
  assert.deepEqual(pathsByName(volumes), { disk: `${volumesDir}/disk` });
  assert.equal((await fs.stat(`${volumesDir}/disk`))?.mode, 0o777);
});

test('PodVolumes changes the group of the directory once', async () => {
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

const modes: Record<string, { volume: Volume; fsGroup?: number; mode: number; gid: number }> = {
  'on disk': { volume: disk, mode: 0o777, gid: 0 },
  'on disk with an fsGroup': { volume: disk, fsGroup: 2000, mode: 0o2777, gid: 2000 },
  'in memory': { volume: memory, mode: 0o1777, gid: 0 },
  'in memory with an fsGroup': { volume: memory, fsGroup: 2000, mode: 0o3777, gid: 2000 },
};

for (const [what, { volume, fsGroup, mode, gid }] of Object.entries(modes)) {
  test(`PodVolumes gives an empty directory ${what} kubelet’s mode`, async () => {
    const { fs, volumes } = await machine();
    await volumes.prepare(podWith([volume], fsGroup === undefined ? {} : { securityContext: { fsGroup } }), signal);
    const found = await fs.stat(`${volumesDir}/${volume.name}`);
    assert.deepEqual({ mode: found?.mode, gid: found?.gid }, { mode, gid });
  });
}

test('PodVolumes completes the mode of a directory that a killed process created', async () => {
  const { fs, volumes } = await machine();
  await fs.makeDirectory(`${volumesDir}/disk`, 0o755);
  await volumes.prepare(podWith([disk]), signal);
  assert.equal((await fs.stat(`${volumesDir}/disk`))?.mode, 0o777);
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

const mediums: Record<string, { source: EmptyDirVolumeSource; tmpfsNoswap?: boolean; mounted: Partial<MountRequest> }> =
  {
    'a tmpfs of its size': {
      source: { medium: 'Memory', sizeLimit: '8Mi' },
      mounted: { source: 'tmpfs', type: 'tmpfs', data: 'size=8388608' },
    },
    'a tmpfs without swap if the kernel supports it': {
      source: { medium: 'Memory' },
      tmpfsNoswap: true,
      mounted: { source: 'tmpfs', type: 'tmpfs', data: 'size=1073741824,noswap' },
    },
    'huge pages': {
      source: { medium: 'HugePages-2Mi' },
      mounted: { source: 'nodev', type: 'hugetlbfs', data: 'pagesize=2Mi' },
    },
  };

for (const [what, { source, tmpfsNoswap = false, mounted }] of Object.entries(mediums)) {
  test(`PodVolumes mounts ${what}`, async () => {
    const requests: MountRequest[] = [];
    const { mounts } = createMemoryHost();
    const recording = {
      mount: async (request: MountRequest) => void requests.push(request),
      list: () => mounts.list(),
      unmount: (target: string) => mounts.unmount(target),
      bindBeneath: async () => undefined,
      bindMapped: () => assert.fail('not for volumes'),
      mountOverlay: () => assert.fail('not for volumes'),
    };
    const { volumes } = await machine({ mounts: recording, tmpfsNoswap });
    const resources = { requests: { 'hugepages-2Mi': '4Mi' } };
    await volumes.prepare(
      podWith([{ name: 'mem', emptyDir: source }], { containers: [{ name: 'web', resources }] }),
      signal,
    );
    assert.deepEqual(requests, [{ target: `${volumesDir}/mem`, ...mounted }]);
  });
}

const badMediums: Record<string, string> = {
  HugePages: 'medium HugePages: hugePages storage requested, but there is no resource request for huge pages',
  Tape: 'unknown storage medium "Tape"',
};

for (const [medium, fault] of Object.entries(badMediums)) {
  test(`PodVolumes rejects the medium ${medium}`, async () => {
    const { volumes } = await machine();
    const message = `MountVolume.SetUp failed for volume "odd" : ${fault}`;
    const prepared = volumes.prepare(podWith([{ name: 'odd', emptyDir: { medium } }]), signal);
    await assert.rejects(prepared, { reason: 'FailedMount', message });
  });
}

test('PodVolumes reports that the machine has no such huge pages', async () => {
  const { mounts, volumes } = await machine();
  mounts.errors.failNext('mount', 'EINVAL');
  const containers = [{ name: 'web', resources: { requests: { 'hugepages-4Mi': '4Mi' } } }];
  const prepared = volumes.prepare(
    podWith([{ name: 'big', emptyDir: { medium: 'HugePages' } }], { containers }),
    signal,
  );
  await assert.rejects(prepared, {
    message:
      'MountVolume.SetUp failed for volume "big" : the machine has no huge pages of this size (pagesize=4Mi): ' +
      `mount ${volumesDir}/big: EINVAL`,
  });
});

test('PodVolumes has nothing of an image volume on the host', async () => {
  const { fs, volumes } = await machine();
  const image = { reference: 'model:1', pullPolicy: 'Always' };
  await volumes.prepare(podWith([{ name: 'model', image }]), signal);
  assert.deepEqual(
    [...volumes.volumes('u1')],
    [['model', { image, specName: 'model', readOnly: true, isRelabelled: false }]],
  );
  assert.equal(await fs.stat(volumesDir), undefined);
  await volumes.refresh(podWith([{ name: 'model', image }]), signal);
  assert.deepEqual([...volumes.volumes('u1').keys()], ['model']);
});

test('PodVolumes skips volumes that no container mounts', async () => {
  const { fs, volumes } = await machine();
  const unused = [disk, { name: 'data', nfs: { server: 's', path: '/' } }];
  await volumes.prepare(examplePod({ spec: { volumes: unused } }), signal);
  assert.deepEqual([...volumes.volumes('u1')], []);
  assert.equal(await fs.stat(volumesDir), undefined);
});

test('PodVolumes names the type of an unsupported volume, and all other volumes that fail', async () => {
  const { volumes, recorded } = await machine();
  const git = { name: 'data', gitRepo: { repository: 'r' } };
  const message =
    'volume "data" is of type gitRepo, which is disabled because it runs code of the repository as root: clone it in an init container into an emptyDir volume';
  await assert.rejects(volumes.prepare(podWith([git]), signal), {
    reason: 'FailedMount',
    message,
    silent: false,
  });
  const pod = podWith([git, disk, { name: 'settings', configMap: { name: 'absent' } }]);
  await assert.rejects(volumes.prepare(pod, signal), { reason: 'FailedMount', silent: true });
  assert.deepEqual(recorded, [
    `Warning FailedMount: ${message}`,
    'Warning FailedMount: MountVolume.SetUp failed for volume "settings" : configmap "absent" not found',
  ]);
  assert.deepEqual([...volumes.volumes('u1')], []);
});

const sizes: Record<string, { spec: Partial<PodSpec>; sizeLimit?: string; bytes: bigint }> = {
  'the node’s memory': { spec: {}, bytes: 1_073_741_824n },
  'its own limit': { spec: {}, sizeLimit: '8Mi', bytes: 8_388_608n },
  'at most the node’s memory': { spec: {}, sizeLimit: '8Gi', bytes: 1_073_741_824n },
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
  'any path without a type': { source: { path: '/not/there' } },
  'a directory': { source: { path: '/srv/folder', type: 'Directory' } },
  'a file': { source: { path: '/srv/file', type: 'File' } },
  'an existing file for FileOrCreate': { source: { path: '/srv/file', type: 'FileOrCreate' } },
  'a socket': { source: { path: '/srv/socket', type: 'Socket' } },
  'no file as a directory': {
    source: { path: '/srv/file', type: 'Directory' },
    fault: 'hostPath type check failed: /srv/file is not a directory',
  },
  'no file for DirectoryOrCreate': {
    source: { path: '/srv/file', type: 'DirectoryOrCreate' },
    fault: 'hostPath type check failed: /srv/file is not a directory',
  },
  'no directory as a file': {
    source: { path: '/srv/folder', type: 'File' },
    fault: 'hostPath type check failed: /srv/folder is not a file',
  },
  'no missing path': {
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
  'no parent path': { source: { path: '/srv/../etc' }, fault: "invalid HostPath `/srv/../etc`: must not contain '..'" },
};

for (const [what, { source, fault }] of Object.entries(hostPaths)) {
  test(`PodVolumes accepts ${what} of the host`, async () => {
    const { volumes } = await machine();
    const prepared = volumes.prepare(podWith([{ name: 'host', hostPath: source }]), signal);
    if (fault === undefined) {
      await prepared;
      assert.deepEqual(pathsByName(volumes), { host: source.path });
    } else {
      const message = `MountVolume.SetUp failed for volume "host" : ${fault}`;
      await assert.rejects(prepared, { reason: 'FailedMount', message });
    }
  });
}

test('PodVolumes creates missing paths of the OrCreate types', async () => {
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

test('PodVolumes recognizes its mounts if its root is behind a symlink', async () => {
  const { fs, mounts, volumes } = await machine();
  await fs.makeDirectory('/disk/kubelet');
  await fs.symbolicLink('/disk/kubelet', '/k');
  const pod = podWith([memory, { name: 'me', downwardAPI: { items: [] } }]);
  await volumes.prepare(pod, signal);
  await volumes.prepare(pod, signal);
  const below = async () => (await mounts.list()).filter(({ target }) => target.startsWith('/disk/'));
  assert.equal((await below()).length, 2);
  await volumes.release(pod, signal);
  assert.deepEqual(await below(), []);
  assert.equal(await fs.stat('/k/pods/u1/volumes'), undefined);
});

test('PodVolumes reads the mount table once for all volumes', async () => {
  const host = createMemoryHost();
  let lists = 0;
  const list = () => {
    lists++;
    return host.mounts.list();
  };
  const mounts = { mount: (request: MountRequest) => host.mounts.mount(request), list };
  const counting = Object.assign(Object.create(host.mounts), mounts);
  const { volumes } = await machine({ ...host, mounts: counting });
  await host.fs.makeDirectory('/k/pods/u1');
  await volumes.prepare(podWith([memory, disk, { ...memory, name: 'other' }]), signal);
  assert.equal(lists, 1);
});
