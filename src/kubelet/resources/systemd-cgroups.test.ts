import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CgroupValues } from '../../host/cgroups.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { UNLIMITED, type UnitProperties } from '../../host/systemd.ts';
import { createSystemdCgroups } from './systemd-cgroups.ts';
import { resourceProperties, roundQuota } from './systemd-properties.ts';

const QOS = '/kubepods.slice/kubepods-burstable.slice';
const UNIT = 'kubepods-burstable-pod1234_5678.slice';
const POD = `${QOS}/${UNIT}`;

function cgroupsOfMachine() {
  const host = createMemoryHost();
  return { ...host, driver: createSystemdCgroups(host) };
}

test('the systemd driver creates a slice with its parents', async () => {
  const { driver, systemd, cgroups } = cgroupsOfMachine();
  await driver.create(POD);
  await driver.create(POD);
  assert.deepEqual(systemd.propertiesOf(UNIT), {
    Description: `libcontainer container ${UNIT}`,
    Wants: ['kubepods-burstable.slice'],
    DefaultDependencies: false,
    CPUAccounting: true,
    MemoryAccounting: true,
    IOAccounting: true,
    TasksAccounting: true,
  });
  assert.deepEqual(await cgroups.children(QOS), [UNIT]);
  assert.equal(await driver.exists(POD), true);
});

test('the systemd driver sets values as properties and in the files', async () => {
  const { driver, systemd, cgroups } = cgroupsOfMachine();
  await driver.create(POD);
  await driver.update(POD, { cpuShares: 1024, memoryLimitBytes: 64 * 2 ** 20, hugePageLimits: { '2MB': 0 } });
  const { CPUWeight, MemoryMax } = systemd.propertiesOf(UNIT) ?? {};
  assert.deepEqual({ CPUWeight, MemoryMax }, { CPUWeight: 39n, MemoryMax: 67_108_864n });
  assert.deepEqual(cgroups.valuesOf(POD), {
    cpuShares: 1024,
    memoryLimitBytes: 67_108_864,
    hugePageLimits: { '2MB': 0 },
  });
});

test('the systemd driver does not stop a slice with processes', async () => {
  const { driver, systemd, cgroups } = cgroupsOfMachine();
  await driver.create(POD);
  cgroups.enter(POD, 7);
  await assert.rejects(driver.remove(QOS), { name: 'CgroupBusyError', pids: [7] });
  assert.notEqual(systemd.propertiesOf(UNIT), undefined);
  cgroups.leave(7);
  await driver.remove(POD);
  await driver.remove(POD);
  assert.equal(systemd.propertiesOf(UNIT), undefined);
  assert.equal(await driver.exists(POD), false);
});

test('the systemd driver removes a cgroup whose slice systemd has forgotten', async () => {
  const { driver, cgroups } = cgroupsOfMachine();
  await cgroups.create(POD);
  await driver.remove(POD);
  assert.equal(await driver.exists(POD), false);
});

test('the systemd driver refuses paths that are not slices', async () => {
  const { driver } = cgroupsOfMachine();
  await assert.rejects(driver.create('/kubepods/burstable'), {
    message: 'cgroup /kubepods/burstable cannot be managed by systemd: burstable is not the name of a slice',
  });
});

test('an error of systemd names the unit and the reason', async () => {
  const { driver, systemd } = cgroupsOfMachine();
  systemd.errors.failNext('start', 'connect ENOENT /run/dbus/system_bus_socket');
  await assert.rejects(driver.create(POD), {
    name: 'SystemdError',
    message: `cannot start unit ${UNIT}: connect ENOENT /run/dbus/system_bus_socket`,
  });
});

const cases: readonly { readonly values: CgroupValues; readonly v2: UnitProperties; readonly v1?: UnitProperties }[] = [
  { values: {}, v2: {} },
  { values: { cpuShares: 2 }, v2: { CPUWeight: 1n }, v1: { CPUShares: 2n } },
  { values: { memoryLimitBytes: -1 }, v2: { MemoryMax: UNLIMITED }, v1: { MemoryLimit: UNLIMITED } },
  {
    values: { memoryMinBytes: 4096, memoryLowBytes: 0 },
    v2: { MemoryMin: 4096n, MemoryLow: 0n },
    v1: {},
  },
  { values: { pidsLimit: -1 }, v2: { TasksMax: UNLIMITED } },
  { values: { pidsLimit: 0 }, v2: { TasksMax: 1n } },
  { values: { pidsLimit: 100 }, v2: { TasksMax: 100n } },
  {
    values: { cpuQuotaMicroseconds: 50_000, cpuPeriodMicroseconds: 100_000 },
    v2: { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 500_000n },
  },
  {
    values: { cpuQuotaMicroseconds: -1, cpuPeriodMicroseconds: 100_000 },
    v2: { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: UNLIMITED },
  },
  { values: { cpuQuotaMicroseconds: 20_000 }, v2: { CPUQuotaPerSecUSec: 200_000n } },
];

for (const { values, v2, v1 = v2 } of cases) {
  test(`the unit's properties for ${JSON.stringify(values)}`, () => {
    assert.deepEqual(resourceProperties(values, 'v2'), v2);
    assert.deepEqual(resourceProperties(values, 'v1'), v1);
  });
}

test('a quota is rounded up to a percent of a CPU, in the file as well', () => {
  const rounded = roundQuota({ cpuQuotaMicroseconds: 10_500, cpuPeriodMicroseconds: 100_000 });
  assert.deepEqual(rounded, { cpuQuotaMicroseconds: 11_000, cpuPeriodMicroseconds: 100_000 });
  assert.equal(resourceProperties(rounded, 'v2').CPUQuotaPerSecUSec, 110_000n);
  assert.deepEqual(roundQuota({ cpuQuotaMicroseconds: -1 }), { cpuQuotaMicroseconds: -1 });
});
