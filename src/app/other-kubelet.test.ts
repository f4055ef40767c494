import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../host/fake/memory-host.ts';
import { findOtherKubelet, listeningInodes } from './other-kubelet.ts';

const HEAD = 'Num       RefCount Protocol Flags    Type St Inode Path\n';
const line = (flags: string, inode: string, path: string) =>
  `ffff8881: 00000002 00000000 ${flags} 0001 01 ${inode} ${path}\n`;

const TABLES: readonly (readonly [name: string, table: string, inodes: readonly string[]])[] = [
  ['a listening socket', line('00010000', '12345', '/root/pod-resources/2718'), ['12345']],
  ['a short inode', line('00010000', '   45', '/root/pod-resources/kubelet.sock'), ['45']],
  ['a connection to it', line('00000000', '12345', '/root/pod-resources/2718'), []],
  ['another root directory', line('00010000', '12345', '/root2/pod-resources/2718'), []],
  ['another folder', line('00010000', '12345', '/root/device-plugins/kubelet.sock'), []],
  ['a socket without a name', 'ffff8881: 00000002 00000000 00010000 0001 01 12345\n', []],
];

for (const [name, table, inodes] of TABLES) {
  test(`listeningInodes(): ${name}`, () => {
    assert.deepEqual(listeningInodes(HEAD + table, '/root/pod-resources/'), inodes);
  });
}

test('findOtherKubelet() names the process that listens', async () => {
  const { fs } = createMemoryHost();
  for (const folder of ['/proc/net', '/proc/7/fd', '/proc/42/fd', '/proc/self']) await fs.makeDirectory(folder);
  assert.equal(await findOtherKubelet('/root', fs), undefined);
  await fs.writeFile('/proc/net/unix', HEAD + line('00010000', '12345', '/root/pod-resources/2718'));
  assert.equal(await findOtherKubelet('/root', fs), undefined);
  await fs.symbolicLink('socket:[1]', '/proc/7/fd/3');
  await fs.symbolicLink('socket:[12345]', '/proc/42/fd/5');
  await fs.writeFile('/proc/42/comm', 'kubelet\n');
  assert.deepEqual(await findOtherKubelet('/root', fs), { pid: 42, name: 'kubelet' });
});
