import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../base/log.ts';
import { createMemoryHost, type MemoryHost } from '../host/fake/memory-host.ts';
import type { NodeEvent } from '../kubelet/node/node-event.ts';
import { loadKubeletConfig } from './config/load-config.ts';
import { nodeSettings } from './node-settings.ts';
import { prepareNode } from './prepare-node.ts';

const MACHINE = { memoryBytes: 8 * 2 ** 30, addresses: [] } as never; // only the size of the memory is read
const SYSCTLS = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

async function machine(sysctls: Readonly<Record<string, number>> = SYSCTLS): Promise<MemoryHost> {
  const host = createMemoryHost();
  const { fs } = host;
  for (const folder of ['/proc/sys/vm', '/proc/sys/kernel/keys', '/etc']) await fs.makeDirectory(folder);
  for (const [flag, value] of Object.entries(sysctls)) await fs.writeFile(`/proc/sys/${flag}`, `${value}\n`);
  await fs.writeFile('/etc/resolv.conf', 'nameserver 192.0.2.53\n');
  await fs.writeFile('/proc/cpuinfo', 'processor : 0\nprocessor : 1\n');
  return host;
}

async function prepare(host: MemoryHost, ...flags: string[]): Promise<readonly NodeEvent[]> {
  const never = new AbortController().signal;
  const { settings } = await loadKubeletConfig(flags, { fs: host.fs, hostname: 'box' }, never);
  const node = nodeSettings(settings, 'cgroupfs');
  return prepareNode(settings, { process: { host, machine: MACHINE }, cgroupDriver: 'cgroupfs', node, log: silentLog });
}

test('sets the kernel’s flags and the limit of open files', async () => {
  const host = await machine({ ...SYSCTLS, 'kernel/panic': 0 });
  assert.deepEqual(await prepare(host), []);
  assert.equal(await host.fs.readText('/proc/sys/kernel/panic'), '10');
  assert.equal(host.processes.openFilesLimit, 1_000_000);
});

test('leaves the limit of open files to the operator with the embedded runtime', async () => {
  const host = await machine();
  await prepare(host, '--container-runtime-endpoint=embedded');
  assert.equal(host.processes.openFilesLimit, undefined);
});

test('does not start with protected kernel flags that differ', async () => {
  const host = await machine({ ...SYSCTLS, 'kernel/panic': 0 });
  await assert.rejects(prepare(host, '--protect-kernel-defaults'), {
    name: 'StartupError',
    message: 'Failed to start ContainerManager: invalid kernel flag: kernel/panic, expected value: 10, actual value: 0',
  });
});

test('limits existing cgroups to their reservations, and reports it', async () => {
  const host = await machine();
  await host.cgroups.create('/kube');
  const flags = ['--enforce-node-allocatable=pods,kube-reserved', '--kube-reserved-cgroup=/kube'];
  const events = await prepare(host, ...flags, '--kube-reserved=cpu=500m,memory=1Gi');
  assert.deepEqual(events, [
    { type: 'Normal', reason: 'NodeAllocatableEnforced', message: 'Updated limits on kube reserved cgroup /kube' },
  ]);
  assert.equal(host.cgroups.valuesOf('/kube')?.memoryLimitBytes, 2 ** 30);
  await host.cgroups.remove('/kube');
  await assert.rejects(prepare(host, ...flags), {
    name: 'StartupError',
    message: /^Failed to start ContainerManager: Failed to enforce Kube Reserved Cgroup Limits on "\/kube": /,
  });
});

test('does not start when more is reserved than there is, or with the root as the system’s cgroup', async () => {
  await assert.rejects(
    prepare(await machine(), '--system-reserved=memory=9Gi', '--eviction-hard=memory.available<0%'),
    {
      name: 'StartupError',
      message:
        'Failed to start ContainerManager: invalid Node Allocatable configuration. Resource "memory" has a reservation of 9Gi but capacity of 8Gi. Expected capacity >= reservation.',
    },
  );
  await assert.rejects(prepare(await machine(), '--system-cgroups=/', '--cgroup-root=/'), {
    message: 'Failed to start ContainerManager: system container cannot be root ("/")',
  });
});

test('reports a resolv.conf that pods cannot use', async () => {
  const host = await machine();
  await host.fs.remove('/etc/resolv.conf');
  assert.deepEqual(await prepare(host), [
    {
      type: 'Warning',
      reason: 'CheckLimitsForResolvConf',
      message: 'open /etc/resolv.conf: no such file or directory',
    },
  ]);
});
