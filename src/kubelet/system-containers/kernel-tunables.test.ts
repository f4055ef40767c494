import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { setUpKernelTunables } from './kernel-tunables.ts';

const GOOD = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

async function machine(flags: Readonly<Record<string, string>>) {
  const { fs } = createMemoryHost();
  for (const folder of ['vm', 'kernel/keys']) await fs.makeDirectory(`/proc/sys/${folder}`);
  for (const [flag, value] of Object.entries(flags)) await fs.writeFile(`/proc/sys/${flag}`, `${value}\n`);
  const read = async (flag: string): Promise<string> => (await fs.readText(`/proc/sys/${flag}`)).trim();
  return { fs, log: silentLog, read };
}

test('flags are set to the values that kubelet needs', async () => {
  const world = await machine({ ...GOOD, 'vm/overcommit_memory': '0', 'kernel/panic': '0' });
  await setUpKernelTunables(false, world);
  for (const [flag, value] of Object.entries(GOOD)) assert.equal(await world.read(flag), value);
});

test('protected flags stay as they are, and each wrong one is named', async () => {
  const world = await machine({ ...GOOD, 'vm/overcommit_memory': '0', 'kernel/panic': '0' });
  await assert.rejects(setUpKernelTunables(true, world), {
    message:
      '[invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, ' +
      'invalid kernel flag: kernel/panic, expected value: 10, actual value: 0]',
  });
  assert.equal(await world.read('vm/overcommit_memory'), '0');
  await setUpKernelTunables(true, await machine(GOOD));
});

test('a flag that cannot be read is an error', async () => {
  const { 'kernel/panic': _, ...others } = GOOD;
  await assert.rejects(setUpKernelTunables(false, await machine(others)), { message: /\/proc\/sys\/kernel\/panic/ });
  await assert.rejects(setUpKernelTunables(false, await machine({ ...GOOD, 'kernel/panic': 'x' })), {
    message: 'strconv.Atoi: parsing "x": invalid syntax',
  });
});
