import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { manifest, readSource } from './fake/read-source.ts';
import { createFileSource } from './file-source.ts';

const FOLDER = '/etc/kubernetes/manifests';

async function setUp(paths = [FOLDER], prepare: (fs: MemoryHost['fs']) => Promise<void> = async () => {}) {
  const host = createMemoryHost();
  await host.fs.makeDirectory(FOLDER);
  await prepare(host.fs);
  const source = createFileSource({ paths, nodeName: 'box', rescanMs: 20_000 }, host);
  const read = readSource(source, host.clock);
  return {
    ...host,
    ...read,
    write: (name: string, text: string) => host.fs.writeFile(`${FOLDER}/${name}`, text),
    last: () => read.after(0),
  };
}

test('an empty directory yields an empty snapshot', async () => {
  await using it = await setUp();
  assert.deepEqual(await it.last(), { pods: [], errors: [] });
  assert.equal(it.snapshots.length, 1);
});

test('a new, a changed and a removed file are seen at once', async () => {
  await using it = await setUp();
  await it.last();
  await it.write('web.yaml', manifest('web'));
  assert.deepEqual((await it.last()).pods, ['web-box busybox']);
  await it.write('web.yaml', manifest('web', 'nginx'));
  assert.deepEqual((await it.last()).pods, ['web-box nginx']);
  await it.fs.remove(`${FOLDER}/web.yaml`);
  assert.deepEqual((await it.last()).pods, []);
});

test('a pod keeps its UID while its manifest stays the same, and gets another with another text', async () => {
  await using it = await setUp();
  const uid = async () => {
    await it.last();
    return it.snapshots.at(-1)?.pods[0]?.metadata.uid;
  };
  await it.write('web.yaml', manifest('web'));
  const first = await uid();
  await it.write('other.yaml', manifest('other'));
  const again =
    it.snapshots.at(-1)?.pods.find(({ metadata }) => metadata.name === 'web-box')?.metadata.uid ?? (await uid());
  await it.fs.remove(`${FOLDER}/other.yaml`);
  assert.equal(again, first);
  await it.write('web.yaml', manifest('web', 'nginx'));
  assert.notEqual(await uid(), first);
});

test('there is no snapshot without a change', async () => {
  await using it = await setUp();
  await it.write('web.yaml', manifest('web'));
  await it.last();
  const before = it.snapshots.length;
  await it.clock.advance(100_000);
  assert.equal(it.snapshots.length, before);
});

test('several documents in a file are several pods, and an invalid one does not affect the others', async () => {
  await using it = await setUp();
  await it.write('all.yaml', `${manifest('a')}---\n${manifest('B_')}---\n${manifest('c')}`);
  const { pods, errors } = await it.last();
  assert.deepEqual(pods, ['a-box busybox', 'c-box busybox']);
  assert.equal(errors.length, 1);
  assert.match(errors[0] ?? '', /all\.yaml:8:\d+: metadata\.name: Invalid value: "B_": a lowercase RFC 1123 subdomain/);
});

test('a file that becomes invalid keeps its pod until it is fixed or removed', async () => {
  await using it = await setUp();
  await it.write('web.yaml', manifest('web'));
  assert.deepEqual((await it.last()).pods, ['web-box busybox']);
  await it.write('web.yaml', 'apiVersion: v1\nkind: [Pod\n');
  const broken = await it.last();
  assert.deepEqual(broken.pods, ['web-box busybox']);
  assert.match(broken.errors[0] ?? '', /web\.yaml:\d+:\d+: /);
  await it.write('web.yaml', manifest('web', 'nginx'));
  assert.deepEqual(await it.last(), { pods: ['web-box nginx'], errors: [] });
  await it.fs.remove(`${FOLDER}/web.yaml`);
  assert.deepEqual(await it.last(), { pods: [], errors: [] });
});

test('a file that is too large is not read; it keeps its pod, and the snapshot is complete', async () => {
  await using it = await setUp();
  await it.write('web.yaml', manifest('web'));
  await it.last();
  await it.write('web.yaml', `${manifest('web', 'nginx')}#${' '.repeat(10 * 2 ** 20)}`);
  assert.deepEqual(await it.last(), {
    pods: ['web-box busybox'],
    errors: ['the file is longer than 10485760 bytes'],
  });
  assert.equal(it.snapshots.at(-1)?.incomplete, undefined);
  await it.write('web.yaml', '');
  assert.deepEqual(await it.last(), { pods: [], errors: [] });
});

test('a pipe is reported and not read', async () => {
  await using it = await setUp([FOLDER], async (fs) => {
    fs.createSocket('/some.sock', 0o600);
    await fs.symbolicLink('/some.sock', `${FOLDER}/odd.yaml`);
    await fs.writeFile(`${FOLDER}/web.yaml`, manifest('web'));
  });
  assert.deepEqual(await it.last(), { pods: ['web-box busybox'], errors: ['path is not a directory or file'] });
  assert.equal(it.snapshots.at(-1)?.incomplete, undefined);
});

test('an unused config map is reported, and keeps no pod that was removed from the file', async () => {
  await using it = await setUp();
  const settings = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n';
  await it.write('all.yaml', [manifest('web'), manifest('db'), settings].join('---\n'));
  assert.deepEqual((await it.last()).pods, ['web-box busybox', 'db-box busybox']);
  await it.write('all.yaml', [manifest('web'), settings].join('---\n'));
  const { pods, errors } = await it.last();
  assert.deepEqual(pods, ['web-box busybox']);
  assert.equal(errors.length, 1);
});

test('dot files and subdirectories are ignored', async () => {
  await using it = await setUp();
  await it.write('.web.yaml.swp', manifest('swap'));
  await it.fs.makeDirectory(`${FOLDER}/below`);
  await it.fs.writeFile(`${FOLDER}/below/web.yaml`, manifest('below'));
  assert.deepEqual(await it.last(), { pods: [], errors: [] });
});

test('a missing directory is reported, and read when it appears', async () => {
  await using it = await setUp(['/later']);
  assert.deepEqual((await it.last()).errors, ['read /later: ENOENT']);
  await it.fs.makeDirectory('/later');
  await it.fs.writeFile('/later/web.yaml', manifest('web'));
  await it.clock.advance(1000);
  assert.deepEqual(await it.last(), { pods: ['web-box busybox'], errors: [] });
});

for (const operation of ['readDirectory', 'readText'] as const) {
  test(`a failed first read (${operation}) makes the snapshot incomplete until it succeeds`, async () => {
    await using it = await setUp([FOLDER], async (fs) => {
      await fs.writeFile(`${FOLDER}/web.yaml`, manifest('web'));
      fs.errors.failNext(operation, 'EIO');
    });
    assert.deepEqual(await it.last(), { pods: ['web-box busybox'], errors: [] });
    const [first] = it.snapshots;
    assert.deepEqual([first?.pods, first?.incomplete], [[], true]);
    assert.equal(it.snapshots.at(-1)?.incomplete, undefined);
  });
}

test('a file that cannot be read for a while keeps its pod, and its error is cleared', async () => {
  await using it = await setUp();
  await it.write('web.yaml', manifest('web'));
  await it.last();
  it.fs.errors.failNext('readText', 'EIO');
  await it.clock.advance(20_000);
  const { pods, errors } = await it.last();
  assert.deepEqual([pods.length, errors.length, it.snapshots.at(-1)?.incomplete], [1, 1, undefined]);
  await it.clock.advance(1000);
  assert.deepEqual(await it.last(), { pods: ['web-box busybox'], errors: [] });
});
