/** Saved images equal their source: layers of GNU tar are restored byte for byte, and containerd imports the archive. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { buildConfig } from '../../src/runtime/images/fake/image-archives.ts';
import { openStorage, type Storage } from '../../src/runtime/open-storage.ts';
import { chainIds, digestOf, hexOf } from '../../src/runtime/storage/digest.ts';
import { skipReason, startContainerd } from './containerd-fixture.ts';

const signal = new AbortController().signal;
const needsRoot = process.getuid?.() === 0 ? false : 'needs root';

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-save-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A tree with all kinds of entries that archivers get wrong. */
function makeTree(folder: string): string {
  const script = `
    mkdir -p tree/usr/bin tree/empty && cd tree
    printf 'text' > usr/bin/program && chmod 4755 usr/bin/program
    ln usr/bin/program usr/bin/same && ln -s /usr/bin bin && ln -s nowhere broken
    mkfifo pipe && mknod null c 1 3 && mknod disk b 7 0
    printf 'begin' > holes && truncate -s 5M holes && printf 'end' >> holes && truncate -s 9M holes
    truncate -s 3M only-holes
    d=$(printf 'd%.0s' $(seq 120)); mkdir -p $d/$d && printf 'deep' > $d/$d/file && ln -s $d/$d/file long-link
    printf 'odd' > "$(printf 'latin-\\351')"
    setfattr -n user.note -v kept usr/bin/program 2>/dev/null || true
    chown 3000000:70000 empty
  `;
  mkdirSync(folder, { recursive: true });
  execFileSync('bash', ['-ec', script], { cwd: folder });
  return join(folder, 'tree');
}

const FORMATS: Record<string, readonly string[]> = {
  gnu: ['--format=gnu'],
  'gnu, sparse': ['--format=gnu', '--sparse'],
  'pax with attributes': ['--format=pax', '--xattrs'],
  'pax, sparse 0.0': ['--format=pax', '--sparse', '--sparse-version=0.0'],
  'pax, sparse 0.1': ['--format=pax', '--sparse', '--sparse-version=0.1'],
  'pax, sparse 1.0': ['--format=pax', '--sparse', '--sparse-version=1.0'],
  'gnu, in large blocks': ['--format=gnu', '--blocking-factor=2048'],
};

function devicesIn(folder: string, names: readonly string[]): readonly string[] {
  return names.map((name) => execFileSync('stat', ['-c', '%F %t %T', join(folder, name)], { encoding: 'utf8' }));
}

async function storageIn(folder: string): Promise<Storage> {
  const storage = { storage: join(folder, 'storage') };
  const settings = { pinnedImages: [] };
  return openStorage({
    ...createLinuxHost(process.env),
    log: silentLog,
    paths: storage,
    settings,
    architecture: 'amd64',
  });
}

async function ingest(storage: Storage, layers: readonly Buffer[], name: string): Promise<string> {
  const config = buildConfig({ layers, config: { Cmd: ['/usr/bin/program'] } });
  const incoming = layers.map((layer) => ({
    open: async function* () {
      for (let at = 0; at < layer.byteLength; at += 100_000) yield layer.subarray(at, at + 100_000);
    },
  }));
  return (await storage.ingest.ingest({ references: [name], config, layers: incoming, sizeBytes: 1 }, signal)).id;
}

async function saved(storage: Storage, images: readonly string[], path: string): Promise<string> {
  await pipeline(storage.exporter.archive(images, signal), createWriteStream(path));
  return path;
}

for (const [name, options] of Object.entries(FORMATS)) {
  test(`save restores a layer of GNU tar: ${name}`, { skip: needsRoot }, async (t) => {
    const folder = temporaryFolder(t);
    const tree = makeTree(folder);
    const layer = execFileSync('tar', ['-C', tree, ...options, '-c', '.'], { maxBuffer: 2 ** 28 });
    const storage = await storageIn(folder);
    await ingest(storage, [layer], 'app:1');
    const archive = await saved(storage, ['app:1'], join(folder, 'saved.tar'));
    const blob = execFileSync('tar', ['-xOf', archive, `blobs/sha256/${hexOf(digestOf(layer))}`], {
      maxBuffer: 2 ** 28,
    });
    assert.ok(blob.equals(layer));
    const [chain = ''] = chainIds([digestOf(layer)]);
    const unpacked = join(folder, 'storage/layers/overlay', hexOf(chain));
    // diff treats special files as equal only when they were created in the same second.
    const special = ['pipe', 'null', 'disk'];
    execFileSync('diff', ['-r', '--no-dereference', ...special.flatMap((each) => ['-x', each]), tree, unpacked]);
    assert.deepEqual(devicesIn(unpacked, special), devicesIn(tree, special));
    const holes = statSync(join(unpacked, 'holes'));
    assert.ok(!name.includes('sparse') || holes.blocks * 512 < holes.size / 4, 'holes stay holes');
    const again = await storageIn(join(folder, 'again'));
    const [loaded] = await again.loader.loadArchive(archive, {}, signal);
    assert.deepEqual([loaded?.id, loaded?.repoTags], [storage.images.find('app:1')?.id, ['docker.io/library/app:1']]);
    await Promise.all([storage.close(), again.close()]);
  });
}

test('containerd imports a saved image, with the same ids', { skip: skipReason() }, async (t) => {
  const folder = temporaryFolder(t);
  const tree = makeTree(folder);
  const base = execFileSync('tar', ['-C', tree, '-c', '.'], { maxBuffer: 2 ** 28 });
  writeFileSync(join(folder, '.wh.pipe'), '');
  const above = execFileSync('tar', ['-C', folder, '-c', '.wh.pipe']);
  const storage = await storageIn(folder);
  const one = await ingest(storage, [base], 'app:1');
  const two = await ingest(storage, [base, above], 'registry.local:5000/team/app:2');
  const archive = await saved(storage, ['app:1', 'registry.local:5000/team/app:2'], join(folder, 'saved.tar'));
  const containerd = await startContainerd();
  t.after(() => containerd.stop());
  containerd.ctr('images', 'import', archive);
  const digests = [...containerd.ctr('images', 'ls', 'name~=app').matchAll(/(\S+:[12])\s+\S+\s+(sha256:[0-9a-f]+)/g)];
  const ids = digests.map(([, name, digest]) => [
    name,
    JSON.parse(containerd.ctr('content', 'get', digest ?? '')).config.digest,
  ]);
  assert.deepEqual(Object.fromEntries(ids), { 'docker.io/library/app:1': one, 'registry.local:5000/team/app:2': two });
  await storage.close();
});

test('save is deterministic', { skip: needsRoot }, async (t) => {
  const folder = temporaryFolder(t);
  const layer = execFileSync('tar', ['-C', makeTree(folder), '-c', '.'], { maxBuffer: 2 ** 28 });
  const storage = await storageIn(folder);
  await ingest(storage, [layer], 'app:1');
  const hashes = [];
  for (const number of [1, 2]) {
    const archive = readFileSync(await saved(storage, ['app:1'], join(folder, `${number}.tar`)));
    hashes.push(createHash('sha256').update(archive).digest('hex'));
  }
  assert.equal(hashes[0], hashes[1]);
  await storage.close();
});
