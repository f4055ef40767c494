/** The test controls of an in-memory host. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from './memory-host.ts';

const never = new AbortController().signal;

test('an injected error fails one operation, on one path when it has one', async () => {
  const { fs } = createMemoryHost();
  fs.errors.failNext('writeFile', 'EIO', '/b');
  await fs.writeFile('/a', '');
  await assert.rejects(fs.writeFile('/b', ''), { name: 'FileSystemError', code: 'EIO', path: '/b' });
  await fs.writeFile('/b', '');
});

test('every port turns injected errors into its own error type', async () => {
  const { mounts, processes, cgroups, network } = createMemoryHost();
  processes.install('/bin/true', async () => 0);
  mounts.errors.failNext('mount', 'EPERM');
  processes.errors.failNext('run', 'EAGAIN');
  cgroups.errors.failNext('create', 'EACCES');
  network.errors.failNext('dial', 'EHOSTUNREACH', '10.0.0.1:80');
  await assert.rejects(mounts.mount({ source: 'tmpfs', target: '/', type: 'tmpfs' }), { code: 'EPERM' });
  await assert.rejects(processes.run({ program: '/bin/true', args: [] }, never), { code: 'EAGAIN' });
  await assert.rejects(cgroups.create('/a'), { name: 'FileSystemError', code: 'EACCES' });
  await assert.rejects(network.dial({ host: '10.0.0.1', port: 80 }, never), { code: 'EHOSTUNREACH' });
});

test('a full disk rejects writes, and still allows reads and removals', async () => {
  const { fs } = createMemoryHost();
  await fs.writeFile('/a', 'kept');
  fs.isFull = true;
  for (const write of [fs.writeFile('/b', 'x'), fs.writeAtomic('/a', 'x'), fs.makeDirectory('/d')]) {
    await assert.rejects(write, { code: 'ENOSPC' });
  }
  assert.equal(await fs.readText('/a'), 'kept');
  await fs.remove('/a');
  fs.isFull = false;
  await fs.writeFile('/a', 'again');
});

test('usage is set per filesystem', async () => {
  const { fs, mounts } = createMemoryHost();
  await fs.makeDirectory('/m');
  await mounts.mount({ source: 'tmpfs', target: '/m', type: 'tmpfs' });
  const small = { capacityBytes: 1000, availableBytes: 10, usedBytes: 900, inodes: 5, inodesFree: 1 };
  fs.setUsage('/m', small);
  assert.deepEqual(await fs.usage('/m'), small);
  assert.ok((await fs.usage('/')).availableBytes > 10);
});

test('files have the time of the virtual clock', async () => {
  const { fs, clock } = createMemoryHost({ startMs: 1000 });
  await clock.advance(500);
  await fs.writeFile('/a', '');
  assert.equal((await fs.stat('/a'))?.modifiedMs, 1500);
});

test('a scripted program may sleep, and handle a signal', async () => {
  const { clock, processes, fs } = createMemoryHost();
  processes.install('/bin/daemon', async ({ onSignal, ended, stdout }) => {
    const stopped = new AbortController();
    onSignal('SIGTERM', () => stopped.abort());
    await clock.sleep(60_000, AbortSignal.any([ended, stopped.signal])).catch(() => {});
    stdout('stopped\n');
    return 7;
  });
  const daemon = await processes.startDaemon({ program: '/bin/daemon', args: [], logFile: '/log' });
  await clock.advance(1000);
  await processes.kill(daemon, 'SIGTERM');
  assert.deepEqual(await daemon.exited, { exitCode: 7 });
  assert.equal(await fs.readText('/log'), 'stopped\n');
});

test('a black hole delays connections until their deadline', async () => {
  const { clock, network } = createMemoryHost();
  network.blackHole({ host: '10.0.0.1', port: 80 });
  const dial = network.dial({ host: '10.0.0.1', port: 80 }, clock.deadline(1000));
  await assert.rejects(clock.runUntil(dial), { name: 'TimeoutError' });
  assert.equal(clock.monotonic(), 1000);
});

test('the certificate of a service is verified, unless the client skips it', async () => {
  const { network } = createMemoryHost();
  const target = { host: '10.0.0.1', port: 443 };
  network.listen(target, { http: async () => ({ status: 200, body: 'ok' }), certificate: 'untrusted' });
  const request = { target, method: 'GET', path: '/', scheme: 'https' } as const;
  await assert.rejects(network.request(request, never), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  assert.equal((await network.request({ ...request, insecureSkipVerify: true }, never)).status, 200);
});

test('cgroups keep the values of updates', async () => {
  const { cgroups } = createMemoryHost({ cgroupVersion: 'v1' });
  await cgroups.create('/kubepods/pod1');
  await cgroups.update('/kubepods/pod1', { cpuShares: 2, pidsLimit: 5 });
  await cgroups.update('/kubepods/pod1', { cpuShares: 10 });
  assert.deepEqual(cgroups.valuesOf('/kubepods/pod1'), { cpuShares: 10, pidsLimit: 5 });
  assert.equal(cgroups.version, 'v1');
});
