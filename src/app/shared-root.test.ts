import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../base/log.ts';
import { createMemoryHost, type MemoryHost } from '../host/fake/memory-host.ts';
import type { MountEntry } from '../host/mounts.ts';
import { shareRootDir, unshareRootDir } from './shared-root.ts';

const ROOT = '/var/lib/kubelet';

function share(host: MemoryHost, rootDir = ROOT): Promise<void> {
  return shareRootDir(rootDir, { ...host, log: silentLog });
}

function unshare(host: MemoryHost, rootDir = ROOT): Promise<boolean> {
  return unshareRootDir(rootDir, { ...host, log: silentLog });
}

async function mountsAt(path: string, { mounts }: MemoryHost): Promise<readonly MountEntry['propagation'][]> {
  return (await mounts.list()).filter(({ target }) => target === path).map(({ propagation }) => propagation);
}

test('shareRootDir() binds the directory to itself as a shared mount, once', async () => {
  const host = createMemoryHost();
  await share(host);
  await share(host);
  assert.deepEqual(await mountsAt(ROOT, host), ['shared']);
  await host.fs.writeFile(`${ROOT}/file`, 'kept');
  assert.equal(await unshare(host), true);
  assert.equal(await host.fs.readText(`${ROOT}/file`), 'kept');
});

test('shareRootDir() mounts nothing on a shared mount', async () => {
  const host = createMemoryHost();
  await host.mounts.mount({ source: 'none', target: '/', flags: ['shared'] });
  await share(host);
  assert.deepEqual(await mountsAt(ROOT, host), []);
});

test('shareRootDir() follows a link to the directory', async () => {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/data/kubelet');
  await host.fs.symbolicLink('/data/kubelet', '/kubelet');
  await share(host, '/kubelet');
  assert.deepEqual(await mountsAt('/data/kubelet', host), ['shared']);
  await unshare(host, '/kubelet');
  assert.deepEqual(await mountsAt('/data/kubelet', host), []);
});

test('shareRootDir() does not hide mounts in the directory', async () => {
  const host = createMemoryHost();
  const volume = `${ROOT}/pods/u1/volumes/kubernetes.io~empty-dir/mem`;
  await host.fs.makeDirectory(volume);
  await host.mounts.mount({ source: 'tmpfs', target: volume, type: 'tmpfs' });
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  await shareRootDir(ROOT, { ...host, log });
  assert.deepEqual(await mountsAt(ROOT, host), []);
  assert.deepEqual(warnings, [
    'cannot make the root directory a shared mount while there are mounts in it: no mount propagation',
  ]);
});

test('shareRootDir() rejects with the directory and the cause', async () => {
  const host = createMemoryHost();
  host.mounts.errors.failNext('mount', 'EPERM', ROOT);
  await assert.rejects(share(host), {
    name: 'StartupError',
    message: `cannot make the root directory ${ROOT} a shared mount: mount ${ROOT}: EPERM`,
  });
});

test('unshareRootDir() unmounts the directory that a killed process has bound', async () => {
  const host = createMemoryHost();
  await share(host);
  assert.equal(await unshare(host), true);
  assert.deepEqual(await mountsAt(ROOT, host), []);
  assert.equal(await unshare(host), true);
});

test('unshareRootDir() keeps the mount while directories of pods are left', async () => {
  const host = createMemoryHost();
  await share(host);
  await host.fs.makeDirectory(`${ROOT}/pods/u1`);
  assert.equal(await unshare(host), false);
  assert.deepEqual(await mountsAt(ROOT, host), ['shared']);
});

test('unshareRootDir() keeps the mount while there are mounts in it', async () => {
  const host = createMemoryHost();
  await share(host);
  await host.fs.makeDirectory(`${ROOT}/plugins`);
  await host.mounts.mount({ source: 'tmpfs', target: `${ROOT}/plugins`, type: 'tmpfs' });
  assert.equal(await unshare(host), false);
  assert.deepEqual(await mountsAt(ROOT, host), ['shared']);
});

const foreign: Record<string, (host: MemoryHost) => Promise<void>> = {
  'a filesystem of its own': ({ mounts }) =>
    mounts.mount({ source: '/dev/sdb', target: ROOT, type: 'ext4', flags: ['shared'] }),
  'a bind mount of another directory': async ({ fs, mounts }) => {
    await fs.makeDirectory('/disk/kubelet');
    await mounts.mount({ source: '/disk/kubelet', target: ROOT, flags: ['bind', 'shared'] });
  },
  'a private bind mount': ({ mounts }) => mounts.mount({ source: ROOT, target: ROOT, flags: ['bind'] }),
};
for (const [what, prepare] of Object.entries(foreign)) {
  test(`unshareRootDir() does not unmount ${what}`, async () => {
    const host = createMemoryHost();
    await host.fs.makeDirectory(ROOT);
    await prepare(host);
    const before = await mountsAt(ROOT, host);
    assert.equal(await unshare(host), true);
    assert.deepEqual(await mountsAt(ROOT, host), before);
    await share(host);
    await unshare(host);
    assert.deepEqual(await mountsAt(ROOT, host), before);
  });
}
