import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { NameRegistry } from './name-registry.ts';
import { openRecordStore } from './open-record-store.ts';
import { recordFromText, recordToText } from './record-text.ts';

interface Note {
  readonly id: string;
  readonly text: string;
  readonly atNs?: bigint;
}

function decode(value: unknown): Note {
  const note = value as Note; // the tests write only notes
  if (typeof note.text !== 'string') throw new TypeError('no text');
  return note;
}

function world() {
  const { fs } = createMemoryHost();
  return {
    fs,
    open: () => openRecordStore({ folder: '/records', overflowFolder: '/overflow', fs, log: silentLog, decode }),
  };
}

test('a record store returns written records, also after it is reopened', async () => {
  const { fs, open } = world();
  const { store, damaged } = await open();
  assert.deepEqual([[...store.all], damaged], [[], []]);
  await store.put({ id: 'aa1', text: 'one', atNs: 2n ** 60n });
  await store.put({ id: 'ab2', text: 'two' });
  await store.put({ id: 'aa1', text: 'changed', atNs: 5n });
  await store.remove('ab2');
  await store.remove('never');
  assert.deepEqual((await open()).store.all, store.all);
  assert.deepEqual([...store.all.values()], [{ id: 'aa1', text: 'changed', atNs: 5n }]);
  assert.equal((await fs.stat('/records/aa1.json'))?.mode, 0o600);
  assert.equal((await fs.stat('/records'))?.mode, 0o700);
});

test('a record store finds a record by a unique prefix', async () => {
  const { store } = await world().open();
  for (const id of ['aa1', 'ab2', 'ab']) await store.put({ id, text: id });
  const found = ['aa1', 'aa', 'ab', 'a', '', 'x'].map((id) => store.find(id)?.id);
  assert.deepEqual(found, ['aa1', 'aa1', 'ab', undefined, undefined, undefined]);
});

test('a record store returns damaged records, and removes temporary files of a crash', async () => {
  const { fs, open } = world();
  const { store } = await open();
  for (const id of ['good', 'empty', 'cut', 'other', 'renamed']) await store.put({ id, text: id });
  await fs.writeFile('/records/empty.json', '');
  await fs.writeFile('/records/cut.json', '{"id":"cut","te');
  await fs.writeFile('/records/other.json', '{"id":"other"}');
  await fs.rename('/records/renamed.json', '/records/wrong.json');
  await fs.writeFile('/records/.good.json.tmp', '{');
  const again = await open();
  assert.deepEqual([...again.store.all.keys()], ['good']);
  assert.deepEqual(again.damaged, ['cut', 'empty', 'other', 'wrong']);
  for (const id of again.damaged) await again.store.remove(id);
  assert.deepEqual(await fs.readDirectory('/records'), [{ name: 'good.json', kind: 'file' }]);
});

test('a record store counts a record with a disk error as damaged, and ignores directories', async () => {
  const { fs, open } = world();
  const { store } = await open();
  for (const id of ['good', 'lost']) await store.put({ id, text: id });
  await fs.makeDirectory('/records/lost+found');
  await fs.makeDirectory('/records/folder.json');
  await fs.writeFile('/records/.good.json.tmp', '{');
  fs.errors.failNext('readText', 'EIO', '/records/lost.json');
  fs.errors.failNext('remove', 'EIO', '/records/.good.json.tmp');
  const again = await open();
  assert.deepEqual([[...again.store.all.keys()], again.damaged], [['good'], ['lost']]);
  fs.errors.failNext('readText', 'EMFILE', '/records/lost.json');
  await assert.rejects(open(), { code: 'EMFILE' });
});

test('a record store does not return what it could not write, and keeps what it could not remove', async () => {
  const { fs, open } = world();
  const { store } = await open();
  await store.put({ id: 'a', text: 'old' });
  fs.errors.failNext('writeReplacing', 'EROFS');
  await assert.rejects(store.put({ id: 'a', text: 'new' }), { code: 'EROFS' });
  fs.errors.failNext('remove', 'EIO');
  await assert.rejects(store.remove('a'), { code: 'EIO' });
  assert.deepEqual(store.find('a'), { id: 'a', text: 'old' });
});

test('a record store writes nothing when nothing has changed', async () => {
  const { fs, open } = world();
  const { store } = await open();
  await store.put({ id: 'a', text: 'same', atNs: 1n });
  fs.errors.failNext('writeReplacing', 'EIO');
  await store.put({ id: 'a', text: 'same', atNs: 1n });
});

test('recordToText() and recordFromText() keep values that JSON does not have', () => {
  const record = {
    big: [1n, -(2n ** 63n)],
    bytes: new Uint8Array([0, 255]),
    annotations: { $bigint: 'not a number' },
    labels: { $object: 'x', y: '' },
    nested: { $deep: { $bytes: '!' } },
    none: null,
    missing: undefined,
  };
  const { missing: _, ...kept } = record;
  assert.deepEqual(recordFromText(recordToText(record)), kept);
  assert.throws(() => recordFromText('{"$unknown":1}'), SyntaxError);
});

test('a file has the state of a record under `life`, the key of older versions', () => {
  const record = { id: 'a', state: { phase: 'ready' } };
  assert.deepEqual(JSON.parse(recordToText(record)), { id: 'a', life: { phase: 'ready' } });
  assert.deepEqual(recordFromText('{"id":"a","life":{"phase":"ready"}}'), record);
});

test('a CRI message survives, and gets the defaults of fields that an older version did not write', () => {
  const config = PodSandboxConfig.fromPartial({
    metadata: { name: 'web', attempt: 2 },
    linux: { sysctls: { a: '1' } },
  });
  const read = (text: string): PodSandboxConfig =>
    PodSandboxConfig.fromPartial(recordFromText(text) as Partial<PodSandboxConfig>);
  assert.deepEqual(read(recordToText(config)), config);
  assert.deepEqual(read('{"hostname":"h"}'), PodSandboxConfig.fromPartial({ hostname: 'h' }));
});

test('NameRegistry reserves a name for the first id until it is released', () => {
  const names = new NameRegistry([['a', '1']]);
  assert.deepEqual(
    [names.reserve('a', '2'), names.reserve('a', '1'), names.reserve('b', '2')],
    ['1', undefined, undefined],
  );
  names.release('a', '2');
  assert.equal(names.reserve('a', '2'), '1');
  names.release('a', '1');
  assert.equal(names.reserve('a', '2'), undefined);
});

test('a record store on a full disk keeps changes in the overflow directory, and writes them back', async () => {
  const { fs, open } = world();
  const { store } = await open();
  await store.put({ id: 'a', text: 'old' });
  await store.put({ id: 'b', text: 'old' });
  fs.fullFolder = '/records';
  await store.put({ id: 'a', text: 'new' });
  await assert.rejects(store.put({ id: 'c', text: 'first' }, { mayDefer: true }), { code: 'ENOSPC' });
  assert.deepEqual(
    [...store.all.values()],
    [
      { id: 'a', text: 'new' },
      { id: 'b', text: 'old' },
    ],
  );
  assert.equal(await store.writeBack(), false);
  assert.equal((await fs.stat('/overflow/a.json'))?.mode, 0o600);

  const { store: again, damaged } = await open();
  assert.deepEqual([again.all, damaged], [store.all, []]);
  fs.fullFolder = undefined;
  assert.equal(await again.writeBack(), true);
  assert.deepEqual(await fs.readDirectory('/overflow'), []);
  assert.deepEqual((await open()).store.all, store.all);
});

test('a record store replaces a change in the overflow directory by a newer one', async () => {
  const { fs, open } = world();
  const { store } = await open();
  await store.put({ id: 'a', text: 'one' });
  fs.fullFolder = '/records';
  await store.put({ id: 'a', text: 'two' });
  fs.fullFolder = undefined;
  fs.errors.failNext('remove', 'EIO', '/overflow/a.json'); // like a kill at this point
  await assert.rejects(store.put({ id: 'a', text: 'three' }), { code: 'EIO' });
  assert.deepEqual((await open()).store.find('a'), { id: 'a', text: 'three' });
  await store.put({ id: 'a', text: 'four' });
  assert.deepEqual(await fs.readDirectory('/overflow'), []);
  assert.deepEqual((await open()).store.find('a'), { id: 'a', text: 'four' });
});

test('a record store removes an overflowed record, wherever the removal is interrupted', async () => {
  const { fs, open } = world();
  const { store } = await open();
  await store.put({ id: 'a', text: 'old' });
  fs.fullFolder = '/records';
  await store.put({ id: 'a', text: 'new' });
  fs.errors.failNext('remove', 'EIO', '/overflow/a.json');
  await assert.rejects(store.remove('a'), { code: 'EIO' });
  const again = await open();
  assert.deepEqual([[...again.store.all], again.damaged], [[], []]);
  assert.deepEqual(await fs.readDirectory('/overflow'), []);
});

test('a record store without any space keeps deferrable changes in memory until there is space', async () => {
  const { fs, open } = world();
  const { store } = await open();
  await store.put({ id: 'a', text: 'old' });
  fs.isFull = true;
  await assert.rejects(store.put({ id: 'a', text: 'new' }), { code: 'ENOSPC' });
  await store.put({ id: 'a', text: 'end' }, { mayDefer: true });
  assert.deepEqual(store.find('a'), { id: 'a', text: 'end' });
  assert.equal(await store.writeBack(), false);
  assert.deepEqual((await open()).store.find('a'), { id: 'a', text: 'old' });
  fs.isFull = false;
  fs.errors.failNext('writeReplacing', 'EIO');
  assert.equal(await store.writeBack(), false);
  assert.equal(await store.writeBack(), true);
  assert.deepEqual((await open()).store.find('a'), { id: 'a', text: 'end' });
});
