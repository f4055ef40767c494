import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { MemoryMachineAddresses } from '../../../src/host/fake/memory-machine-addresses.ts';
import { linuxMachineAddresses } from '../../../src/host/linux/net/linux-machine-addresses.ts';
import type { MachineAddresses } from '../../../src/host/machine-addresses.ts';

const machines: Record<string, MachineAddresses> = {
  linux: linuxMachineAddresses,
  memory: new MemoryMachineAddresses(),
};

for (const [name, addresses] of Object.entries(machines)) {
  suite(`machine addresses (${name})`, () => {
    test('all addresses include loopback', () => {
      assert.ok(addresses.all().includes('127.0.0.1'));
    });

    for (const family of [4, 6] as const) {
      test(`the primary address of family ${family} is one of the machine's, and not loopback`, () => {
        const primary = addresses.primary(family);
        if (primary === undefined) return;
        assert.ok(addresses.all().includes(primary));
        assert.equal(primary.includes(':'), family === 6);
        assert.ok(!['127.0.0.1', '::1'].includes(primary));
      });
    }
  });
}
