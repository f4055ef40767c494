/** The contract of filesystems for reading and rotating logs. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import type { FileSystem } from '../../../src/host/file-system.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { temporaryFolder } from './temporary-folder.ts';

type MakeWorld = (t: TestContext) => Promise<{ readonly fs: FileSystem; readonly root: string }>;

const never = new AbortController().signal;
const text = (data: Uint8Array): string => new TextDecoder().decode(data);

logFilesContract('linux', async (t) => ({ fs: linuxFileSystem, root: await temporaryFolder(t) }));
logFilesContract('memory', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/data');
  return { fs, root: '/data' };
});

function logFilesContract(name: string, makeWorld: MakeWorld): void {
  test(`${name} file system: an open file can be read after it is renamed or removed`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, '0123456789');
    await using file = await fs.openFile(`${root}/a`);
    await fs.rename(`${root}/a`, `${root}/b`);
    await fs.appendFile(`${root}/b`, 'more');
    await fs.writeFile(`${root}/a`, 'another');
    assert.equal(text(await file.read(8, 100)), '89more');
    await fs.remove(`${root}/b`);
    assert.deepEqual([text(await file.read(0, 3)), text(await file.read(14, 1))], ['012', '']);
    const { kind, size, inode } = await file.stat();
    assert.deepEqual([kind, size], ['file', 14]);
    assert.notEqual(inode, (await fs.stat(`${root}/a`))?.inode);
  });

  test(`${name} file system: only regular files are opened, through links only if requested`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, 'found');
    await fs.symbolicLink('a', `${root}/link`);
    await using file = await fs.openFile(`${root}/link`);
    assert.equal(text(await file.read(0, 9)), 'found');
    const failures: Record<string, () => Promise<unknown>> = {
      ELOOP: () => fs.openFile(`${root}/link`, { followLink: false }),
      ENOENT: () => fs.openFile(`${root}/none`),
      EISDIR: () => fs.openFile(root),
    };
    for (const [code, failure] of Object.entries(failures)) {
      await assert.rejects(failure(), { name: 'FileSystemError', code });
    }
  });

  test(`${name} file system: renames only to a free name`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, 'a');
    await fs.writeFile(`${root}/b`, 'b');
    assert.equal(await fs.renameUnlessTaken(`${root}/a`, `${root}/b`), false);
    assert.deepEqual([await fs.readText(`${root}/a`), await fs.readText(`${root}/b`)], ['a', 'b']);
    assert.equal(await fs.renameUnlessTaken(`${root}/a`, `${root}/c`), true);
    assert.deepEqual(
      (await fs.readDirectory(root)).map((each) => each.name),
      ['b', 'c'],
    );
    await fs.symbolicLink('nowhere', `${root}/link`);
    assert.equal(await fs.renameUnlessTaken(`${root}/c`, `${root}/link`), false);
    await assert.rejects(fs.renameUnlessTaken(`${root}/none`, `${root}/d`), {
      name: 'FileSystemError',
      code: 'ENOENT',
    });
  });

  test(`${name} file system: compresses a file, over an existing one, with its mode`, async (t) => {
    const { fs, root } = await makeWorld(t);
    const bytes = Buffer.from('a line of the log\n'.repeat(50_000));
    await fs.writeFile(`${root}/a`, bytes, { mode: 0o640 });
    await fs.writeFile(`${root}/a.gz`, 'x'.repeat(1_000_000), { mode: 0o600 });
    await fs.compressFile(`${root}/a`, `${root}/a.gz`, never);
    assert.ok(gunzipSync(await fs.readFile(`${root}/a.gz`)).equals(bytes));
    assert.equal((await fs.stat(`${root}/a.gz`))?.mode, 0o640);
    await assert.rejects(fs.compressFile(`${root}/none`, `${root}/b`, never), { code: 'ENOENT' });
    await assert.rejects(fs.compressFile(`${root}/a`, `${root}/none/b`, never), { code: 'ENOENT' });
    await assert.rejects(fs.compressFile(`${root}/a`, `${root}/b`, AbortSignal.abort(new Error('enough'))), {
      message: 'enough',
    });
  });
}

test('linux file system: opening a pipe without a writer does not block', async (t) => {
  const root = await temporaryFolder(t);
  execFileSync('mkfifo', [`${root}/pipe`]);
  await assert.rejects(linuxFileSystem.openFile(`${root}/pipe`), { name: 'FileSystemError', code: 'ENXIO' });
  await assert.rejects(linuxFileSystem.openFile('/dev/zero'), { code: 'ENXIO' });
});

test('linux file system: other kinds of files are never opened', async (t) => {
  const root = await temporaryFolder(t);
  await linuxFileSystem.makeDirectory(`${root}/v`);
  execFileSync('mkfifo', [`${root}/v/pipe`]);
  // open(2) of a writer returns as soon as anything opens the pipe to read.
  const writer = spawn('sh', ['-c', 'exec 3>"$0"', `${root}/v/pipe`], { stdio: 'ignore' });
  t.after(() => writer.kill('SIGKILL'));
  const isWaiting = async () => /fifo|partner/.test(await readFile(`/proc/${writer.pid}/wchan`, 'utf8'));
  for (const limit = AbortSignal.timeout(10_000); !(await isWaiting()); await delay(10)) limit.throwIfAborted();
  await assert.rejects(linuxFileSystem.openFile(`${root}/v/pipe`), { code: 'ENXIO', path: `${root}/v/pipe` });
  await assert.rejects(linuxFileSystem.openFile(`${root}/v/pipe`, { followLink: false }), { code: 'ENXIO' });
  await assert.rejects(linuxFileSystem.openFileBeneath(`${root}/v`, 'pipe'), { code: 'ENXIO' });
  await delay(100);
  assert.deepEqual([await isWaiting(), writer.exitCode], [true, null]);
});
