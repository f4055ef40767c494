/** Manifests that are removed and written again in quick succession. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { manifest, podsOf, readSource } from './fake/read-source.ts';
import { createFileSource } from './file-source.ts';

const FOLDER = '/etc/kubernetes/manifests';
const FILE = `${FOLDER}/web.yaml`;

async function setUp(path = FOLDER) {
  const host = createMemoryHost();
  await host.fs.makeDirectory(FOLDER);
  await host.fs.writeFile(FILE, manifest('web'));
  if (path === FOLDER) await host.fs.writeFile(`${FOLDER}/other.yaml`, manifest('other'));
  const source = createFileSource({ paths: [path], nodeName: 'box', rescanMs: 20_000, references: 'manifests' }, host);
  const read = readSource(source, host.clock);
  const { snapshots } = read;
  await host.clock.advance(0);
  return {
    ...host,
    ...read,
    /** New snapshots since the call, as `name image` of each pod. */
    async news(): Promise<string[][]> {
      const before = snapshots.length;
      await host.clock.advance(60_000);
      return snapshots.slice(before).map(podsOf);
    },
    uid: () => snapshots.at(-1)?.pods.at(-1)?.metadata.uid,
  };
}

const BOTH = ['other-box busybox', 'web-box busybox'];
const OTHER = ['other-box busybox'];

test('a manifest that is removed and written again with the same text is a removal and an addition', async () => {
  await using it = await setUp();
  const uid = it.uid();
  await it.fs.remove(FILE);
  await it.fs.writeFile(FILE, manifest('web'));
  assert.deepEqual(await it.news(), [OTHER, BOTH]);
  assert.equal(it.uid(), uid);
  assert.deepEqual(await it.news(), [], 'once');
});

test('so is a manifest that is configured as a file', async () => {
  await using it = await setUp(FILE);
  await it.fs.remove(FILE);
  await it.fs.writeFile(FILE, manifest('web'));
  assert.deepEqual(await it.news(), [[], ['web-box busybox']]);
});

test('so is one that is moved away and back, and all of a directory that is removed and recreated', async () => {
  await using it = await setUp();
  await it.fs.rename(FILE, '/tmp-web.yaml');
  await it.fs.rename('/tmp-web.yaml', FILE);
  assert.deepEqual(await it.news(), [OTHER, BOTH]);
  await it.fs.removeTree(FOLDER);
  await it.fs.makeDirectory(FOLDER);
  await it.fs.writeFile(FILE, manifest('web'));
  await it.fs.writeFile(`${FOLDER}/other.yaml`, manifest('other'));
  assert.deepEqual(await it.news(), [[], BOTH]);
});

test('a file that is renamed over a manifest, or written in place, removes no pod', async () => {
  await using it = await setUp();
  for (let i = 0; i < 2; i++) await it.fs.writeAtomic(FILE, manifest('web'));
  await it.fs.writeFile(FILE, manifest('web'));
  assert.deepEqual(await it.news(), []);
});

test('a manifest that comes back with another text makes one snapshot: its pod has another UID', async () => {
  await using it = await setUp();
  await it.fs.remove(FILE);
  await it.fs.writeFile(FILE, manifest('web', 'nginx'));
  assert.deepEqual(await it.news(), [['other-box busybox', 'web-box nginx']]);
});

test('a manifest that was removed and comes back invalid keeps no pod', async () => {
  await using it = await setUp();
  await it.fs.remove(FILE);
  await it.fs.writeFile(FILE, 'kind: Po');
  assert.deepEqual(await it.news(), [OTHER]);
  await it.fs.writeFile(FILE, manifest('web'));
  assert.deepEqual(await it.news(), [BOTH]);
});
