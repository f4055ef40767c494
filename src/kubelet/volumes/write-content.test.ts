import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import test from 'node:test';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { VolumeContent } from './volume-content.ts';
import { writeContent } from './write-content.ts';

const FOLDER = '/volume';
const START_MS = 1_794_700_000_000;

async function machine(): Promise<MemoryHost> {
  const host = createMemoryHost({ startMs: START_MS });
  await host.fs.makeDirectory(FOLDER, 0o777);
  return host;
}

function content(files: Readonly<Record<string, string>>, mode = 0o644): VolumeContent {
  return new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]));
}

/** What a container reads: the text of each file by its visible path. */
async function seen(fs: FileSystem, folder = FOLDER): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const { name } of await fs.readDirectory(folder)) {
    if (name.startsWith('..')) continue;
    const path = `${folder}/${name}`;
    const kind = (await fs.stat(path))?.kind;
    if (kind === 'directory') Object.assign(files, await seen(fs, path));
    else if (kind === 'file') files[path.slice(FOLDER.length + 1)] = await fs.readText(path);
  }
  return files;
}

async function versions(fs: FileSystem): Promise<string[]> {
  const names = (await fs.readDirectory(FOLDER)).map(({ name }) => name);
  return names.filter((name) => name.startsWith('..') && name !== '..data');
}

test('writeContent() links files through one directory, in kubelet’s layout', async () => {
  const host = await machine();
  await writeContent(FOLDER, content({ 'app.conf': 'a', 'sub/deep/x': 'x', 'sub/y': 'y' }, 0o440), undefined, host);
  const { fs } = host;
  const version = await fs.readLink(`${FOLDER}/..data`);
  assert.match(version, /^\.\.2026_11_14_23_46_40\.\d+$/);
  assert.deepEqual(await fs.readDirectory(FOLDER), [
    { name: version, kind: 'directory' },
    { name: '..data', kind: 'symlink' },
    { name: 'app.conf', kind: 'symlink' },
    { name: 'sub', kind: 'symlink' },
  ]);
  assert.equal(await fs.readLink(`${FOLDER}/app.conf`), '..data/app.conf');
  assert.equal(await fs.readLink(`${FOLDER}/sub`), '..data/sub');
  assert.deepEqual(await seen(fs), { 'app.conf': 'a', 'sub/deep/x': 'x', 'sub/y': 'y' });
  const modes = await Promise.all(['', '/app.conf', '/sub'].map(async (path) => fs.stat(`${FOLDER}/..data${path}`)));
  assert.deepEqual(
    modes.map((stat) => stat?.mode),
    [0o755, 0o440, 0o755],
  );
});

test('writeContent() replaces all files at once and removes the old ones', async () => {
  const host = await machine();
  await writeContent(FOLDER, content({ a: '1', b: '1', 'sub/c': '1' }), undefined, host);
  await writeContent(FOLDER, content({ a: '2', 'new/d': '2' }), undefined, host);
  assert.deepEqual(await seen(host.fs), { a: '2', 'new/d': '2' });
  assert.equal((await versions(host.fs)).length, 1);
  await writeContent(FOLDER, content({}), undefined, host);
  assert.deepEqual(await seen(host.fs), {});
  assert.equal((await versions(host.fs)).length, 1);
});

const sameAndOther: Record<string, { next: Readonly<Record<string, string>>; isWritten: boolean }> = {
  'does not rewrite the same content': { next: { a: '1', 'sub/b': '2' }, isWritten: false },
  'writes a changed text': { next: { a: '1', 'sub/b': '3' }, isWritten: true },
  'writes when a file was added': { next: { a: '1', 'sub/b': '2', c: '' }, isWritten: true },
  'writes when a file was removed': { next: { a: '1' }, isWritten: true },
};
for (const [what, { next, isWritten }] of Object.entries(sameAndOther)) {
  test(`writeContent() ${what}`, async () => {
    const host = await machine();
    await writeContent(FOLDER, content({ a: '1', 'sub/b': '2' }), undefined, host);
    const before = await host.fs.readLink(`${FOLDER}/..data`);
    await writeContent(FOLDER, content(next), undefined, host);
    assert.equal((await host.fs.readLink(`${FOLDER}/..data`)) !== before, isWritten);
    assert.deepEqual(await seen(host.fs), next);
  });
}

test('writeContent() lets only the pod’s group read', async () => {
  const host = await machine();
  const { fs } = host;
  await writeContent(FOLDER, content({ a: '1', 'sub/b': '2' }, 0o400), 2000, host);
  const shown = async (path: string) => {
    const { gid, mode } = (await fs.stat(`${FOLDER}/..data/${path}`)) ?? {};
    return [gid, mode];
  };
  assert.deepEqual(await Promise.all(['', 'a', 'sub', 'sub/b'].map(shown)), [
    [2000, 0o2755],
    [2000, 0o440],
    [2000, 0o2755],
    [2000, 0o440],
  ]);
});

test('writeContent() keeps the mount points of other volumes', async () => {
  const host = await machine();
  await host.fs.makeDirectory(`${FOLDER}/sub`);
  await writeContent(FOLDER, content({ a: '1', 'sub/b': '2' }), undefined, host);
  assert.deepEqual(await host.fs.readDirectory(`${FOLDER}/sub`), []);
  await writeContent(FOLDER, content({}), undefined, host);
  assert.equal((await host.fs.lstat(`${FOLDER}/sub`))?.kind, 'directory');
});

const hostile: Record<string, string> = {
  '': 'invalid path: must not be empty: ""',
  '/etc/passwd': 'invalid path: must be relative path: /etc/passwd',
  '../../x': "invalid path: must not contain '..': ../../x",
  'a/../../x': "invalid path: must not contain '..': a/../../x",
  '..data': "invalid path: must not start with '..': ..data",
  '..data/x': "invalid path: must not start with '..': ..data/x",
  './..data': "invalid path: must not start with '..': ..data",
  './': 'invalid path: must not be empty: ""',
  ['n'.repeat(256)]: 'invalid path: filenames must be less than or equal to 255 characters',
  ['n/'.repeat(2049)]: 'invalid path: must be less than or equal to 4096 characters',
};
for (const [path, message] of Object.entries(hostile)) {
  test(`writeContent() rejects ${JSON.stringify(path.slice(0, 20))}`, async () => {
    const host = await machine();
    await assert.rejects(writeContent(FOLDER, content({ good: '', [path]: 'bad' }), undefined, host), { message });
    assert.deepEqual(await host.fs.readDirectory(FOLDER), []);
  });
}

test('writeContent() accepts any spelling of a path', async () => {
  const host = await machine();
  const spelled = content({ 'a/': 'first', 'sub//deep/./b': 'b', './a': 'last' });
  await writeContent(FOLDER, spelled, undefined, host);
  await writeContent(FOLDER, spelled, undefined, host);
  assert.deepEqual(await seen(host.fs), { a: 'last', 'sub/deep/b': 'b' });
});

test('writeContent() shows ten thousand files', async () => {
  const host = await machine();
  const many = (text: string): VolumeContent =>
    content(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, text])));
  await writeContent(FOLDER, many('old'), undefined, host);
  await writeContent(FOLDER, many('new'), undefined, host);
  assert.equal((await host.fs.readDirectory(FOLDER)).length, 10_002);
  assert.equal(await host.fs.readText(`${FOLDER}/key-9999`), 'new');
});

test('writeContent() keeps the old content when the disk is full, and writes the new one later', async () => {
  const host = await machine();
  await writeContent(FOLDER, content({ a: 'old' }), undefined, host);
  host.fs.isFull = true;
  const next = content({ a: 'new', b: 'new' });
  await assert.rejects(writeContent(FOLDER, next, undefined, host), { code: 'ENOSPC' });
  assert.deepEqual(await seen(host.fs), { a: 'old' });
  assert.equal((await versions(host.fs)).length, 1);
  host.fs.isFull = false;
  await writeContent(FOLDER, next, undefined, host);
  assert.deepEqual(await seen(host.fs), { a: 'new', b: 'new' });
});

test('writeContent() can be killed at any call: a reader sees one version, and the next call completes it', async () => {
  const before = { a: 'old', 'sub/b': 'old', gone: 'old' };
  const after = { a: 'new', 'sub/b': 'new', more: 'new' };
  for (let calls = 0, isDone = false; !isDone; calls++) {
    const host = await machine();
    await writeContent(FOLDER, content(before), 2000, host);
    const dying = { ...host, fs: killedAfter(host.fs, calls) };
    isDone = await writeContent(FOLDER, content(after), 2000, dying).then(
      () => true,
      () => false,
    );
    const texts = new Set(Object.values(await seen(host.fs)));
    assert.equal(texts.size, 1, `after ${calls} calls: ${[...texts].join(' and ')}`);
    await writeContent(FOLDER, content(after), 2000, host);
    assert.deepEqual(await seen(host.fs), after);
    assert.equal((await versions(host.fs)).length, 1);
  }
});

/** A file system whose process dies after some calls: later calls have no effect. */
function killedAfter(fs: FileSystem, calls: number): FileSystem {
  let left = calls;
  return new Proxy(fs, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]): unknown => {
        if (left-- <= 0) return Promise.reject(new Error('killed'));
        return method.apply(target, args);
      };
    },
  });
}
