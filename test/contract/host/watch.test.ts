/** The contract of filesystem watches. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { type TestContext, test } from 'node:test';
import { byCodePoint } from '../../../src/base/code-point-order.ts';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import type { FileSystem } from '../../../src/host/file-system.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { temporaryFolder } from './temporary-folder.ts';

interface WatchWorld {
  readonly fs: FileSystem;
  /** An empty folder. */
  readonly root: string;
}

watchContract('linux', async (t) => ({ fs: linuxFileSystem, root: await temporaryFolder(t) }));
watchContract('memory', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/data');
  return { fs, root: '/data' };
});

function watchContract(name: string, makeWorld: (t: TestContext) => Promise<WatchWorld>): void {
  /** Watches until the test ends; the first event has been consumed. */
  async function startWatching(t: TestContext, fs: FileSystem, path: string) {
    const controller = new AbortController();
    t.after(() => controller.abort());
    const looks = fs.watch(path, controller.signal)[Symbol.asyncIterator]();
    assert.deepEqual(await looks.next(), { done: false, value: undefined });
    return { looks, controller };
  }

  /** Checks after each event until the state is as expected: one change may cause several events. */
  async function until(looks: AsyncIterator<void>, isThere: () => Promise<boolean>): Promise<void> {
    do assert.equal((await looks.next()).done, false);
    while (!(await isThere()));
  }

  const changes: Record<string, (fs: FileSystem, root: string) => Promise<void>> = {
    'a new file': (fs, root) => fs.writeFile(`${root}/new`, 'x'),
    'a new folder': (fs, root) => fs.makeDirectory(`${root}/new`),
    'a file that is written': (fs, root) => fs.appendFile(`${root}/old`, 'x'),
    'a file that is replaced': (fs, root) => fs.writeAtomic(`${root}/old`, 'x'),
    'a file that is moved away': (fs, root) => fs.rename(`${root}/old`, `${root}/folder/old`),
    'a file that is removed': (fs, root) => fs.remove(`${root}/old`),
    'a mode': (fs, root) => fs.changeMode(`${root}/old`, 0o600),
  };
  for (const [what, change] of Object.entries(changes)) {
    test(`${name} watch of a folder: reports ${what}`, async (t) => {
      const { fs, root } = await makeWorld(t);
      await fs.writeFile(`${root}/old`, '');
      await fs.makeDirectory(`${root}/folder`);
      const { looks } = await startWatching(t, fs, root);
      const look = looks.next();
      await change(fs, root);
      assert.equal((await look).done, false);
    });
  }

  test(`${name} watch of a file: continues when the file is replaced, and when it is missing for a while`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, '1');
    const { looks } = await startWatching(t, fs, `${root}/a`);
    for (const content of ['2', '3']) {
      await fs.writeAtomic(`${root}/a`, content);
      await until(looks, async () => (await fs.readText(`${root}/a`)) === content);
    }
    await fs.remove(`${root}/a`);
    await until(looks, async () => (await fs.stat(`${root}/a`)) === undefined);
    await fs.writeFile(`${root}/a`, '4');
    await until(looks, async () => (await fs.stat(`${root}/a`)) !== undefined);
  });

  test(`${name} watch of a file: does not report other files of the folder`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, '1');
    const { looks } = await startWatching(t, fs, `${root}/a`);
    await fs.writeFile(`${root}/b`, '');
    const look = looks.next();
    const first = await Promise.race([look.then(() => 'looked'), fs.readText(`${root}/b`).then(() => 'quiet')]);
    assert.equal(first, 'quiet');
    await fs.appendFile(`${root}/a`, '2');
    assert.equal((await look).done, false);
  });

  test(`${name} watch: many unread changes are coalesced`, async (t) => {
    const { fs, root } = await makeWorld(t);
    const { looks, controller } = await startWatching(t, fs, root);
    for (let i = 0; i < 50; i++) await fs.writeFile(`${root}/${i}`, 'x');
    let count = 0;
    for await (const _ of { [Symbol.asyncIterator]: () => looks }) {
      count++;
      if ((await fs.readDirectory(root)).length === 50) controller.abort();
    }
    assert.ok(count < 50, `${count} looks`);
  });

  test(`${name} watch: ends when the signal aborts and leaves no listener`, async (t) => {
    const { fs, root } = await makeWorld(t);
    const { looks, controller } = await startWatching(t, fs, root);
    const look = looks.next();
    controller.abort();
    assert.deepEqual(await look, { done: true, value: undefined });
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
    const late = fs.watch(root, controller.signal)[Symbol.asyncIterator]();
    assert.equal((await late.next()).done, true);
  });

  /** Changes, and the files that they removed. */
  const removals: Record<string, readonly [(fs: FileSystem, root: string) => Promise<void>, ...string[]]> = {
    'a file that is removed': [(fs, root) => fs.remove(`${root}/a`), 'a'],
    'a file that is removed and written again': [
      async (fs, root) => {
        await fs.remove(`${root}/a`);
        await fs.writeFile(`${root}/a`, '1');
      },
      'a',
    ],
    'a file that is moved away, and replaced by a new one': [
      async (fs, root) => {
        await fs.rename(`${root}/a`, `${root}/a~`);
        await fs.writeFile(`${root}/a`, '1');
      },
      'a',
    ],
    'two files that are renamed over it, one after the other': [
      async (fs, root) => {
        for (const file of ['b', 'c']) await fs.rename(`${root}/${file}`, `${root}/a`);
      },
      'b',
      'c',
    ],
    'a file that is written in place': [(fs, root) => fs.writeFile(`${root}/a`, '2')],
  };
  for (const [what, [change, ...removed]] of Object.entries(removals)) {
    for (const isFile of [false, true]) {
      test(`${name} watchRemovals of ${isFile ? 'a file' : 'a folder'}: ${what}`, async (t) => {
        const { fs, root } = await makeWorld(t);
        for (const file of ['a', 'b', 'c']) await fs.writeFile(`${root}/${file}`, '1');
        const controller = new AbortController();
        t.after(() => controller.abort());
        const looks = fs.watchRemovals(isFile ? `${root}/a` : root, controller.signal)[Symbol.asyncIterator]();
        assert.deepEqual(await looks.next(), { done: false, value: new Set() });
        await change(fs, root);
        const seen = new Set<string>();
        const look = async (): Promise<void> => {
          for (const path of (await looks.next()).value ?? []) seen.add(path);
        };
        await look();
        await fs.appendFile(`${root}/a`, 'the end').catch(() => fs.writeFile(`${root}/a`, 'the end'));
        await look();
        const expected = isFile ? removed.filter((file) => file === 'a') : removed;
        assert.deepEqual(
          [...seen].toSorted(byCodePoint),
          expected.map((file) => `${root}/${file}`),
        );
      });
    }
  }

  test(`${name} watchRemovals: a removed folder reports its files first, and then fails`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.makeDirectory(`${root}/folder`);
    await fs.writeFile(`${root}/folder/a`, '1');
    const looks = fs.watchRemovals(`${root}/folder`, new AbortController().signal)[Symbol.asyncIterator]();
    await looks.next();
    await fs.removeTree(`${root}/folder`);
    assert.deepEqual(await looks.next(), { done: false, value: new Set([`${root}/folder/a`]) });
    await assert.rejects(looks.next(), { name: 'FileSystemError', code: 'ENOENT' });
  });

  test(`${name} watch: fails when the path does not exist, or not any more`, async (t) => {
    const { fs, root } = await makeWorld(t);
    const signal = new AbortController().signal;
    const missing = fs.watch(`${root}/none`, signal)[Symbol.asyncIterator]();
    await assert.rejects(missing.next(), { name: 'FileSystemError', code: 'ENOENT' });

    await fs.makeDirectory(`${root}/folder`);
    const { looks } = await startWatching(t, fs, `${root}/folder`);
    await fs.removeTree(`${root}/folder`);
    await assert.rejects(looks.next(), { name: 'FileSystemError', code: 'ENOENT' });
  });
}
