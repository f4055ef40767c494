/** The contract of lock files. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { MemoryLockFiles } from '../../../src/host/fake/memory-lock-files.ts';
import { linuxLockFiles } from '../../../src/host/linux/fs/linux-lock-files.ts';
import type { LockFiles } from '../../../src/host/lock-files.ts';
import { temporaryFolder } from './temporary-folder.ts';

const never = new AbortController().signal;

lockFilesContract('linux', () => linuxLockFiles);
lockFilesContract('memory', () => new MemoryLockFiles());

function lockFilesContract(name: string, make: () => LockFiles): void {
  test(`${name} lock files: the second holder waits for the first, which sees that the file was opened`, async (t) => {
    const files = make();
    const path = `${await temporaryFolder(t)}/kubelet.lock`;
    const first = await files.acquire(path, never);
    const contended = first.untilContended(never);
    await new Promise((resolve) => setTimeout(resolve, 50)); // the watch begins
    const order: string[] = [];
    const second = files.acquire(path, never).then((lock) => {
      order.push('second');
      return lock;
    });
    await contended;
    order.push('first ends');
    await first[Symbol.asyncDispose]();
    await (await second)[Symbol.asyncDispose]();
    assert.deepEqual(order, ['first ends', 'second']);
  });

  test(`${name} lock files: an aborted wait does not take the lock`, async (t) => {
    const files = make();
    const path = `${await temporaryFolder(t)}/kubelet.lock`;
    const first = await files.acquire(path, never);
    const enough = new AbortController();
    const rejected = [files.acquire(path, enough.signal), first.untilContended(enough.signal)].map((each) =>
      assert.rejects(each, { message: 'enough' }),
    );
    enough.abort(new Error('enough'));
    await Promise.all(rejected);
    await first[Symbol.asyncDispose]();
    await (await files.acquire(path, never))[Symbol.asyncDispose]();
  });
}

test('linux lock files: another process holds the lock by flock(1)', async (t) => {
  const path = `${await temporaryFolder(t)}/kubelet.lock`;
  const holder = spawn('flock', [path, 'sh', '-c', 'echo held; read -r line'], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  const acquired = linuxLockFiles.acquire(path, never);
  const early = await Promise.race([acquired, new Promise((resolve) => setTimeout(resolve, 250, 'waiting'))]);
  assert.equal(early, 'waiting');
  holder.stdin.end();
  await using _lock = await acquired;
});

test('linux lock files: the file is created for its owner alone; a missing folder is an error', async (t) => {
  const folder = await temporaryFolder(t);
  await using _lock = await linuxLockFiles.acquire(`${folder}/a.lock`, never);
  assert.equal(statSync(`${folder}/a.lock`).mode & 0o777, 0o600);
  await assert.rejects(linuxLockFiles.acquire(`${folder}/none/a.lock`, never), {
    name: 'FileSystemError',
    code: 'ENOENT',
  });
});
