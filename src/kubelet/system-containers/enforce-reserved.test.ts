import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity } from '../../base/quantity.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { cgroupName, enforceReserved, type ReservedDeps, reservedCgroups } from './enforce-reserved.ts';

const AMOUNTS = new Map([
  ['cpu', parseQuantity('500m')],
  ['memory', parseQuantity('1Gi')],
  ['pid', parseQuantity('1000')],
  ['ephemeral-storage', parseQuantity('1Gi')],
]);
const NAMES = { system: '/system', kube: '/kube/services' };
const RESERVED = { system: AMOUNTS, kube: AMOUNTS };

function deps(version: 'v1' | 'v2' = 'v2', protectsMemory = false) {
  const { cgroups } = createMemoryHost({ cgroupVersion: version });
  return { cgroups, cgroupDriver: 'cgroupfs', protectsMemory, hugePageSizes: ['2MB'] } as const satisfies ReservedDeps;
}

test('each reservation limits its own cgroup; the compressible forms limit the CPU alone', async () => {
  const kinds = {
    'kube-reserved': { cpuShares: 512, memoryLimitBytes: 2 ** 30, pidsLimit: 1000, hugePageLimits: { '2MB': 0 } },
    'kube-reserved-compressible': { cpuShares: 512, hugePageLimits: { '2MB': 0 } },
  };
  for (const [key, values] of Object.entries(kinds)) {
    const world = deps();
    await world.cgroups.create('/kube/services');
    const [one, ...others] = reservedCgroups(['pods', key], NAMES, RESERVED);
    assert.ok(one && others.length === 0);
    assert.equal(await enforceReserved(one, world), 'Updated limits on kube reserved cgroup /kube/services');
    assert.deepEqual(world.cgroups.valuesOf('/kube/services'), values);
  }
});

test('with MemoryQoS the reserved memory is protected', async () => {
  const world = deps('v2', true);
  await world.cgroups.create('/system');
  for (const each of reservedCgroups(['system-reserved'], NAMES, RESERVED)) await enforceReserved(each, world);
  assert.equal(world.cgroups.valuesOf('/system')?.memoryMinBytes, 2 ** 30);
});

test('a cgroup that does not exist, or lacks a controller, is kubelet’s error', async () => {
  const [system, kube] = reservedCgroups(['kube-reserved', 'system-reserved'], NAMES, RESERVED);
  assert.ok(system && kube);
  await assert.rejects(enforceReserved(system, deps('v1')), {
    message:
      'Failed to enforce System Reserved Cgroup Limits on "/system": cgroup ["system"] has some missing paths: /system',
  });
  await assert.rejects(enforceReserved(kube, deps()), {
    message:
      'Failed to enforce Kube Reserved Cgroup Limits on "/kube/services": could not read controllers for cgroup ["kube" "services"]: open /kube/services: no such file or directory',
  });
  const world = deps();
  await world.cgroups.create('/kube/services');
  world.cgroups.missingControllers.add('pids');
  await assert.rejects(enforceReserved({ ...kube, enforcement: 'compressible' }, world), {
    message:
      'Failed to enforce Kube Reserved Compressible Cgroup Limits on "/kube/services": cgroup ["kube" "services"] has some missing controllers: pids',
  });
});

test('nothing is enforced that is not named', () => {
  assert.deepEqual(reservedCgroups(['pods'], NAMES, RESERVED), []);
  const all = ['kube-reserved-compressible', 'system-reserved'];
  assert.deepEqual(
    reservedCgroups(all, NAMES, RESERVED).map(({ of, enforcement }) => `${of} ${enforcement}`),
    ['system all', 'kube compressible'],
  );
});

test('a cgroup of the systemd driver is named by its slice', () => {
  assert.deepEqual(cgroupName('/system.slice', 'systemd'), ['system']);
  assert.deepEqual(cgroupName('/podruntime.slice/podruntime-kube_let.slice', 'systemd'), ['podruntime', 'kube-let']);
  assert.deepEqual(cgroupName('/a/b', 'cgroupfs'), ['a', 'b']);
});
