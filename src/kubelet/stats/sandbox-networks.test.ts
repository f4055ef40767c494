import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { SandboxNetworks } from './sandbox-networks.ts';

const dev = (bytes: number): string =>
  `Inter-| Receive | Transmit\n face |bytes |bytes\n eth0: ${bytes} 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n`;

async function setUp() {
  const host = createMemoryHost();
  const asked: string[] = [];
  const pids = new Map([['/kubepods/podu1/main-0', [41]]]);
  const cgroups = {
    processes: async (path: string) => {
      asked.push(path);
      return pids.get(path) ?? [];
    },
  };
  const networks = new SandboxNetworks({ fs: host.fs, cgroups, clock: host.clock, cgroupDriver: 'cgroupfs' });
  const write = async (pid: number, bytes: number) => {
    await host.fs.makeDirectory(`/proc/${pid}/net`);
    await host.fs.writeFile(`/proc/${pid}/net/dev`, dev(bytes));
  };
  const target = {
    sandbox: { id: 's0', hostNetwork: false },
    containers: [{ id: 'main-0' }],
    cgroup: '/kubepods/podu1',
  };
  const received = async (given = target) => (await networks.read([given])).get('s0')?.rxBytes;
  return { ...host, pids, asked, write, received, target };
}

test('the network of a pod is read through one of its processes, which is looked up once', async () => {
  const { write, received, asked } = await setUp();
  await write(41, 5);
  assert.equal(await received(), 5);
  await write(41, 6);
  assert.equal(await received(), 6);
  assert.deepEqual(asked, ['/kubepods/podu1/s0', '/kubepods/podu1/main-0']);
});

test('a process that has ended is replaced by another one of the pod', async () => {
  const { write, received, pids, fs } = await setUp();
  await write(41, 5);
  await received();
  await fs.remove('/proc/41/net/dev');
  pids.set('/kubepods/podu1/main-0', [42]);
  await write(42, 9);
  assert.equal(await received(), 9);
});

test('a pod on the host network or without processes has no network of its own', async () => {
  const { received, target, pids } = await setUp();
  assert.equal(await received({ ...target, sandbox: { id: 's0', hostNetwork: true } }), undefined);
  pids.clear();
  assert.equal(await received(), undefined);
});
