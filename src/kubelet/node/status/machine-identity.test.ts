import assert from 'node:assert/strict';
import { dirname } from 'node:path/posix';
import { test } from 'node:test';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { type MachineIdentity, readMachineIdentity } from './machine-identity.ts';

async function identityOf(files: Record<string, string>): Promise<MachineIdentity> {
  const { fs } = createMemoryHost();
  for (const [path, text] of Object.entries(files)) {
    await fs.makeDirectory(dirname(path));
    await fs.writeFile(path, text);
  }
  return readMachineIdentity(fs);
}

const NOTHING: MachineIdentity = {
  machineId: '',
  systemUuid: '',
  bootId: '',
  kernelVersion: '',
  osImage: 'Unknown',
  swapBytes: 0,
};

const cases: Record<string, { files: Record<string, string>; wanted: Partial<MachineIdentity> }> = {
  'empty values from an empty machine': { files: {}, wanted: {} },
  'the machine’s identity': {
    files: {
      '/etc/machine-id': 'abc\n',
      '/sys/class/dmi/id/product_uuid': '42-UUID\n',
      '/proc/sys/kernel/random/boot_id': 'boot\n',
      '/proc/sys/kernel/osrelease': '6.1.0\n',
      '/etc/os-release': 'NAME=x\nPRETTY_NAME="Some Linux 1"\n',
      '/proc/meminfo': 'MemTotal:  100 kB\nSwapTotal:       2048 kB\n',
    },
    wanted: {
      machineId: 'abc',
      systemUuid: '42-UUID',
      bootId: 'boot',
      kernelVersion: '6.1.0',
      osImage: 'Some Linux 1',
      swapBytes: 2 ** 21,
    },
  },
  'the machine id without firmware': {
    files: { '/etc/machine-id': 'abc\n' },
    wanted: { machineId: 'abc', systemUuid: 'abc' },
  },
  'the id of POWER systems without its terminator': {
    files: { '/proc/device-tree/system-id': 'IBM,1\0' },
    wanted: { systemUuid: 'IBM,1' },
  },
  'the id of D-Bus': { files: { '/var/lib/dbus/machine-id': 'abc\n' }, wanted: { machineId: 'abc' } },
  'a system without a name': { files: { '/usr/lib/os-release': 'ID=x\n' }, wanted: { osImage: 'Linux' } },
};

for (const [name, { files, wanted }] of Object.entries(cases)) {
  test(`readMachineIdentity() reads ${name}`, async () => {
    assert.deepEqual(await identityOf(files), { ...NOTHING, ...wanted });
  });
}
