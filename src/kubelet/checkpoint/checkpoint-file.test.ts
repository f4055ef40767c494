import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { CheckpointFile } from './checkpoint-file.ts';

const PATH = '/root/state';

/** A file system whose writes wait for `proceed`, and fail while `refusesWrites` is set. */
class SlowDisk extends MemoryFileSystem {
  readonly writes: string[] = [];
  refusesWrites = false;
  #waiting = Promise.withResolvers<void>();

  override async writeAtomic(...[path, data, options]: Parameters<MemoryFileSystem['writeAtomic']>): Promise<void> {
    this.writes.push(String(data));
    await this.#waiting.promise;
    if (this.refusesWrites) throw new Error('no space left on device');
    await super.writeAtomic(path, data, options);
  }

  proceed(): void {
    this.#waiting.resolve();
  }
}

function newFile() {
  const disk = new SlowDisk(() => 0);
  const state = { text: 'first' };
  const file = new CheckpointFile({ fs: disk, path: PATH, text: () => state.text });
  const change = (text: string): Promise<void> => {
    state.text = text;
    file.markChanged();
    return file.save();
  };
  return { disk, file, state, change };
}

test('a missing file is read as undefined, and its folder is created by the first write', async () => {
  const { disk, file, change } = newFile();
  assert.equal(await file.read(), undefined);
  disk.proceed();
  await change('first');
  assert.equal(await disk.readText(PATH), 'first');
  assert.deepEqual(await new CheckpointFile({ fs: disk, path: PATH, text: () => '' }).read(), 'first');
});

test('changes during a write are in one further write', async () => {
  const { disk, change } = newFile();
  const saved = [change('one')];
  await Promise.resolve();
  saved.push(change('two'), change('three'));
  disk.proceed();
  await Promise.all(saved);
  assert.deepEqual([disk.writes.at(-1), await disk.readText(PATH)], ['three', 'three']);
  assert.ok(disk.writes.length <= 2, disk.writes.join());
});

test('nothing is written without a change, or when the text is the same', async () => {
  const { disk, file, change } = newFile();
  disk.proceed();
  await file.save();
  assert.deepEqual(disk.writes, []);
  await change('one');
  await change('one');
  await file.save();
  assert.deepEqual(disk.writes, ['one']);
});

test('a failed write rejects for all that wait, and the next save repeats it', async () => {
  const { disk, file, change } = newFile();
  disk.refusesWrites = true;
  disk.proceed();
  const saved = await Promise.allSettled([change('one'), file.save()]);
  assert.deepEqual(
    saved.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  disk.refusesWrites = false;
  await file.save();
  assert.equal(await disk.readText(PATH), 'one');
});

test('a folder that was removed is created again by the second save', async () => {
  const { disk, file, change } = newFile();
  disk.proceed();
  await change('one');
  await disk.removeTree('/root');
  await assert.rejects(change('two'), { code: 'ENOENT' });
  await file.save();
  assert.equal(await disk.readText(PATH), 'two');
});
