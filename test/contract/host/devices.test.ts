/** The contract of filesystems for devices. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import type { FileSystem } from '../../../src/host/file-system.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';

devicesContract('linux', async () => linuxFileSystem);
devicesContract('memory', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/dev');
  fs.createDevice('/dev/null', 'characterDevice', { major: 1, minor: 3 });
  return fs;
});

function devicesContract(name: string, makeFileSystem: () => Promise<FileSystem>): void {
  test(`${name} file system: stat() has the device numbers of devices only`, async () => {
    const fs = await makeFileSystem();
    const stat = await fs.stat('/dev/null');
    assert.deepEqual(
      { kind: stat?.kind, special: stat?.special },
      { kind: 'characterDevice', special: { major: 1, minor: 3 } },
    );
    assert.deepEqual((await fs.lstat('/dev/null'))?.special, { major: 1, minor: 3 });
    assert.ok(!('special' in ((await fs.stat('/dev')) ?? {})));
    assert.ok(
      (await fs.readDirectory('/dev')).some((entry) => entry.name === 'null' && entry.kind === 'characterDevice'),
    );
    await assert.rejects(fs.openFile('/dev/null'), { code: 'ENXIO' });
  });
}
