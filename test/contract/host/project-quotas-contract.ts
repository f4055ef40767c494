import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { FileSystem } from '../../../src/host/file-system.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxProjectQuotas } from '../../../src/host/linux/fs/linux-project-quotas.ts';
import type { ProjectQuotas } from '../../../src/host/project-quotas.ts';
import { needsMounts } from './temporary-folder.ts';

export interface QuotasWorld {
  readonly quotas: ProjectQuotas;
  readonly fs: FileSystem;
  /** An empty directory whose file system counts projects. */
  readonly counting: string;
  /** One whose file system does not. */
  readonly plain: string;
  /** Writes what was written to the disk: only then is it counted in full. */
  sync(): void;
}

const PROJECT = 1_048_577;
const MIB = 2 ** 20;

/** The contract of project quotas. */
export function projectQuotasContract(
  name: string,
  makeWorld: (t: TestContext) => Promise<QuotasWorld>,
  skip: string | false = false,
): void {
  test(`${name} project quotas: only some file systems count`, { skip }, async (t) => {
    const { quotas, counting, plain } = await makeWorld(t);
    assert.deepEqual([await quotas.isCounting(counting), await quotas.isCounting(plain)], [true, false]);
    assert.deepEqual([await quotas.projectOf(counting), await quotas.projectOf(plain)], [0, 0]);
  });

  test(`${name} project quotas: files of a directory count for its project, and no others`, { skip }, async (t) => {
    const { quotas, fs, counting, sync } = await makeWorld(t);
    assert.deepEqual(await quotas.usage(counting, PROJECT), { bytes: 0, inodes: 0 });
    for (const each of ['mine', 'other']) await fs.makeDirectory(`${counting}/${each}`);
    await quotas.setProject(`${counting}/mine`, PROJECT);
    assert.equal(await quotas.projectOf(`${counting}/mine`), PROJECT);
    const before = await quotas.usage(counting, PROJECT);
    await fs.makeDirectory(`${counting}/mine/below`);
    for (const each of ['mine/below', 'other']) await fs.writeFile(`${counting}/${each}/file`, 'x'.repeat(MIB));
    sync();
    const { bytes, inodes } = await quotas.usage(`${counting}/mine`, PROJECT);
    assert.equal(inodes - before.inodes, 2);
    assert.ok(bytes - before.bytes >= MIB && bytes - before.bytes < 1.5 * MIB, `${bytes} bytes`);
    await fs.removeTree(`${counting}/mine`);
    sync();
    assert.deepEqual(await quotas.usage(counting, PROJECT), { bytes: 0, inodes: 0 });
  });

  test(`${name} project quotas: a directory that does not exist`, { skip }, async (t) => {
    const { quotas, counting } = await makeWorld(t);
    await assert.rejects(quotas.setProject(`${counting}/none`, PROJECT), { code: 'ENOENT' });
  });
}

/** A new ext4 file system with project quotas, on a loop device. */
export async function linuxQuotasWorld(t: TestContext): Promise<QuotasWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'nodelet-quotas-'));
  const counting = mountCounting(folder);
  t.after(async () => {
    execFileSync('umount', [counting]);
    await rm(folder, { recursive: true, force: true });
  });
  return {
    quotas: linuxProjectQuotas,
    fs: linuxFileSystem,
    counting,
    plain: '/proc',
    sync: () => execFileSync('sync'),
  };
}

/** Makes a file system below the folder and mounts it there. */
export function mountCounting(folder: string): string {
  const image = join(folder, 'disk.img');
  const target = join(folder, 'counting');
  writeFileSync(image, '');
  truncateSync(image, 64 * MIB);
  execFileSync('mke2fs', ['-q', '-F', '-t', 'ext4', '-O', 'quota,project', '-E', 'quotatype=prjquota', image]);
  execFileSync('mkdir', [target]);
  execFileSync('mount', ['-o', 'loop,prjquota', image, target], { stdio: 'pipe' });
  return target;
}

/** The `{ skip }` reason where the kernel has no project quotas. */
export async function quotasSkipReason(): Promise<string | false> {
  if (needsMounts) return needsMounts;
  const folder = await mkdtemp(join(tmpdir(), 'nodelet-quotas-'));
  try {
    execFileSync('umount', [mountCounting(folder)]);
    return false;
  } catch {
    return 'this kernel mounts no ext4 with project quotas (CONFIG_QFMT_V2)';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
