/** Layers and container file systems, on the kernel of this machine. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { busyboxImage } from '../../src/app/images/local-images.ts';
import { ociArchive } from '../../src/app/images/oci-archive.ts';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { buildLayer, buildOciArchive, type FakeFiles } from '../../src/runtime/images/fake/image-archives.ts';
import { openStorage, type Storage, type StorageParts } from '../../src/runtime/open-storage.ts';
import { needsMounts } from '../contract/host/temporary-folder.ts';

const skip = process.getuid?.() === 0 ? needsMounts : 'needs root';
const host = createLinuxHost(process.env);
const signal = new AbortController().signal;

interface World {
  readonly folder: string;
  readonly storage: Storage;
  open(more?: Partial<StorageParts>): Promise<Storage>;
}

async function makeWorld(t: TestContext, more: Partial<StorageParts> = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-storage-'));
  t.after(async () => {
    const ours = (await host.mounts.list()).filter(({ target }) => target.startsWith(`${folder}/`));
    for (const { target } of ours.reverse()) await host.mounts.unmount(target, { lazy: true });
    rmSync(folder, { recursive: true, force: true });
  });
  const open = (extra: Partial<StorageParts> = {}) =>
    openStorage({
      ...host,
      log: silentLog,
      paths: { storage: `${folder}/storage` },
      settings: { pinnedImages: [] },
      architecture: 'amd64',
      ...more,
      ...extra,
    });
  return { folder, storage: await open(), open };
}

async function load(storage: Storage, ...layers: readonly FakeFiles[]): Promise<void> {
  const archives = await Promise.all(layers.map(buildLayer));
  await storage.loader.loadArchive(await buildOciArchive({ names: ['app:1'], layers: archives }), {}, signal);
}

async function namesIn(path: string): Promise<readonly string[]> {
  return (await host.fs.readDirectory(path)).map(({ name }) => name);
}

const low: FakeFiles = {
  a: null,
  'a/one': '1',
  'a/two': '2',
  b: { kind: 'directory', mode: 0o1777, uid: 5, gid: 6 },
  'b/old': '',
  c: 'file',
  tool: { kind: 'symlink', target: 'a/two' },
  same: { kind: 'hardLink', target: 'a/two' },
  null: { kind: 'characterDevice', mode: 0o666, major: 1, minor: 3 },
};
const high: FakeFiles = { 'a/.wh.one': '', 'b/.wh..wh..opq': '', 'b/new': 'new', '.wh.c': '' };

for (const driver of ['overlayfs', 'native'] as const) {
  test(`${driver}: a container sees the files of its image, and its changes stay private`, { skip }, async (t) => {
    const { folder, storage } = await makeWorld(t, { driver });
    await load(storage, low, high);
    const [one, other] = [`${folder}/one`, `${folder}/other`];
    for (const target of [one, other]) {
      await storage.snapshots.mount({ containerId: target.slice(-3), imageId: 'app:1', target }, signal);
    }
    assert.deepEqual(await namesIn(one), ['a', 'b', 'null', 'same', 'tool']);
    assert.deepEqual([await namesIn(`${one}/a`), await namesIn(`${one}/b`)], [['two'], ['new']]);
    const b = await host.fs.stat(`${one}/b`);
    assert.deepEqual([b?.mode, b?.uid, b?.gid], [0o1777, 5, 6]);
    assert.deepEqual((await host.fs.stat(`${one}/null`))?.special, { major: 1, minor: 3 });
    assert.equal((await host.fs.stat(`${one}/same`))?.inode, (await host.fs.stat(`${one}/a/two`))?.inode);

    const before = await storage.snapshots.usage('one');
    await host.fs.writeFile(`${one}/b/large`, new Uint8Array(100_000));
    const after = await storage.snapshots.usage('one');
    assert.ok(after.bytes >= before.bytes + 100_000, JSON.stringify([before, after]));
    assert.ok(after.inodes > before.inodes);
    assert.deepEqual(await namesIn(`${other}/b`), ['new']);

    await storage.snapshots.unmount(one);
    await storage.snapshots.mount({ containerId: 'one', imageId: 'app:1', target: one }, signal);
    assert.deepEqual(await namesIn(`${one}/b`), ['large', 'new']);
    for (const target of [one, other]) {
      await storage.snapshots.unmount(target);
      await storage.snapshots.remove(target.slice(-3));
    }
    assert.deepEqual(await storage.snapshots.list(), []);
    assert.deepEqual(await namesIn(one), []);
  });

  test(`${driver}: ids are mapped, also for the root directory`, { skip }, async (t) => {
    const { folder, storage } = await makeWorld(t, { driver });
    await load(storage, { ...low, './': { kind: 'directory', mode: 0o711 } }, high);
    const target = `${folder}/c`;
    const range = { containerId: 0, hostId: 200_000, length: 65_536 };
    await storage.snapshots.mount(
      { containerId: 'c', imageId: 'app:1', target, idMap: { uids: [range], gids: [range] } },
      signal,
    );
    const owners = await Promise.all(['', '/a/two', '/b', '/b/new'].map((path) => host.fs.stat(`${target}${path}`)));
    assert.deepEqual(
      owners.map((stat) => [stat?.uid, stat?.gid]),
      [
        [200_000, 200_000],
        [200_000, 200_000],
        [200_005, 200_006],
        [200_000, 200_000],
      ],
    );
    assert.equal(owners[0]?.mode, 0o711);
  });

  test(`${driver}: an image is mounted read-only`, { skip }, async (t) => {
    const { folder, storage } = await makeWorld(t, { driver });
    await load(storage, low);
    await storage.snapshots.mountImage({ imageId: 'app:1', target: `${folder}/view` }, signal);
    assert.equal(await host.fs.readText(`${folder}/view/a/one`), '1');
    await assert.rejects(host.fs.writeFile(`${folder}/view/a/one`, ''), { code: 'EROFS' });
    await storage.imageService().removeImage({ image: spec('app:1') }, signal);
    assert.equal(await host.fs.readText(`${folder}/view/a/one`), '1');
    await storage.snapshots.unmount(`${folder}/view`);
    await storage.sweep();
    assert.deepEqual(await namesIn(`${folder}/storage/views`), []);
  });
}

test('overlayfs: the mapping of a given user namespace is used', { skip }, async (t) => {
  const { folder, storage } = await makeWorld(t);
  await load(storage, low);
  const range = { containerId: 0, hostId: 300_000, length: 10 };
  const holder = spawn('unshare', ['--user', 'cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  t.after(() => holder.kill('SIGKILL'));
  holder.stdin.write('\n');
  await once(holder.stdout, 'data');
  for (const kind of ['uid', 'gid']) await host.fs.writeFile(`/proc/${holder.pid}/${kind}_map`, '0 300000 10');
  const idMap = { uids: [range], gids: [range], userNamespacePath: `/proc/${holder.pid}/ns/user` };
  await storage.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: `${folder}/c`, idMap }, signal);
  assert.equal((await host.fs.stat(`${folder}/c/b`))?.uid, 300_005);
});

test('overlayfs: an image of 110 layers', { skip }, async (t) => {
  const { folder, storage } = await makeWorld(t);
  await load(storage, ...Array.from({ length: 110 }, (_, index) => ({ [`file-${index}`]: '' })));
  await storage.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: `${folder}/c` }, signal);
  assert.equal((await namesIn(`${folder}/c`)).length, 110);
});

test('the image that containerd gets is loaded, and its program runs', { skip }, async (t) => {
  const { folder, storage } = await makeWorld(t);
  const program = await host.fs.readFile('/bin/busybox');
  const archive = ociArchive(busyboxImage('amd64', program, ['sh', 'cat', 'ls']));
  const [image] = await storage.loader.loadArchive(archive.bytes, {}, signal);
  assert.deepEqual([image?.id, image?.repoTags], [archive.id, ['localhost/nodelet/busybox:1']]);
  await storage.snapshots.mount({ containerId: 'c', imageId: archive.id, target: `${folder}/c` }, signal);
  const { stdout } = await host.processes.run(
    { program: '/usr/sbin/chroot', args: [`${folder}/c`, '/bin/cat', '/etc/group'] },
    signal,
  );
  assert.equal(new TextDecoder().decode(stdout), 'root:x:0:\nnogroup:x:65534:\n');
});

test('a kill -9 during an image load leaves nothing visible, and nothing after a sweep', { skip }, async (t) => {
  const { folder, open } = await makeWorld(t);
  const files = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`file-${index}`, 'x'.repeat(1000)]));
  const layers = await Promise.all([files, { more: 'm' }].map(buildLayer));
  const archive = await buildOciArchive({ names: ['app:1'], layers, blobs: layers.map((layer) => gzipSync(layer)) });
  await host.fs.writeFile(`${folder}/app.tar`, archive);
  for (const wanted of [0, 1, 200, 500]) {
    await killWhile(folder, wanted);
    const storage = await open();
    if (storage.images.list().length > 0) continue; // it finished before the kill
    await storage.sweep();
    assert.deepEqual(await namesIn(`${folder}/storage/layers/overlay`), ['empty']);
    assert.deepEqual((await namesIn(`${folder}/storage/unfinished`)).length, 1);
  }
  const storage = await open();
  await storage.loader.loadArchive(`${folder}/app.tar`, {}, signal);
  await storage.snapshots.mount({ containerId: 'c', imageId: 'app:1', target: `${folder}/c` }, signal);
  assert.equal((await namesIn(`${folder}/c`)).length, 601);
});

/** Kills the child once this number of files of a layer is unpacked. */
async function killWhile(folder: string, wanted: number): Promise<void> {
  const script = join(import.meta.dirname, 'load-image-child.ts');
  const child = spawn(process.execPath, [script, `${folder}/storage`, `${folder}/app.tar`], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  while (child.exitCode === null && filesUnpacked(`${folder}/storage/unfinished`) < wanted) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  child.kill('SIGKILL');
  await ended;
}

function filesUnpacked(unfinished: string): number {
  try {
    const layers = readdirSync(unfinished).flatMap((life) =>
      readdirSync(join(unfinished, life)).map((name) => join(unfinished, life, name)),
    );
    return Math.max(
      0,
      ...layers.filter((path) => statSync(path).isDirectory()).map((path) => readdirSync(path).length),
    );
  } catch {
    return 0; // being renamed
  }
}

function spec(image: string) {
  return { image, annotations: {}, userSpecifiedImage: '', runtimeHandler: '', imageRef: '' };
}
