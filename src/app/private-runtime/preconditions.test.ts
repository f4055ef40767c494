import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { checkPreconditions } from './preconditions.ts';
import { runtimePaths } from './runtime-paths.ts';

const PROGRAMS = [
  '/bin/busybox',
  '/usr/bin/catatonit',
  '/usr/bin/containerd',
  '/usr/bin/containerd-shim-runc-v2',
  '/usr/bin/ctr',
  '/usr/lib/cni/bridge',
  '/usr/lib/cni/host-local',
  '/usr/lib/cni/loopback',
  '/usr/lib/cni/portmap',
  '/usr/sbin/ip',
  '/usr/sbin/iptables',
  '/usr/sbin/iptables-save',
  '/usr/sbin/runc',
];

async function machine(): Promise<MemoryHost> {
  const host = createMemoryHost();
  const put = async (path: string, text: string): Promise<void> => {
    await host.fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await host.fs.writeFile(path, text);
  };
  for (const path of PROGRAMS) await put(path, '');
  await put('/proc/net/route', 'Iface\tDestination\n');
  await put('/proc/net/fib_trie', '');
  await put('/proc/sys/net/ipv4/ip_forward', '0\n');
  return host;
}

const cases: Record<string, { change: (host: MemoryHost) => Promise<void>; stateDir?: string; message: string }> = {
  'names a program that is missing': {
    change: ({ fs }) => fs.remove('/usr/bin/containerd'),
    message: "containerd is not installed; run 'make setup'",
  },
  'names all that is missing': {
    change: async ({ fs }) => {
      for (const path of ['/usr/sbin/runc', '/usr/lib/cni/bridge', '/bin/busybox']) await fs.remove(path);
    },
    message: "runc, busybox-static and the CNI plugin bridge are not installed; run 'make setup'",
  },
  'finds a pod range that is taken': {
    change: ({ fs }) =>
      fs.writeFile('/proc/net/route', 'Iface\neth0\t0000570A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n'),
    message: 'the pod range 10.87.0.0/16 overlaps 10.87.0.0/16 on eth0; choose another',
  },
  'finds a socket path that is too long': {
    change: async () => {},
    stateDir: `/${'s'.repeat(80)}`,
    message: `the socket path /${'s'.repeat(80)}/containerd/containerd.sock is 7 bytes too long; choose a shorter state folder`,
  },
  'finds that forwarding cannot be turned on': {
    change: async ({ mounts }) => {
      const itself = { source: '/proc/sys', target: '/proc/sys' };
      await mounts.mount({ ...itself, flags: ['bind'] });
      await mounts.mount({ ...itself, flags: ['bind', 'remount', 'readOnly'] });
    },
    message: 'IPv4 forwarding is off and /proc/sys is read-only, so pods would have no network',
  },
};

function check(host: MemoryHost, stateDir = '/run/nodelet'): Promise<void> {
  const paths = runtimePaths({ rootDir: '/var/lib/nodelet', stateDir });
  return checkPreconditions({ ...host, paths, podCidr: '10.87.0.0/16' });
}

test('checkPreconditions() is content with a machine that is set up', async () => {
  await check(await machine());
});

for (const [name, { change, stateDir, message }] of Object.entries(cases)) {
  test(`checkPreconditions() ${name}`, async () => {
    const host = await machine();
    await change(host);
    await assert.rejects(check(host, stateDir), { name: 'RuntimeStartError', message });
  });
}
