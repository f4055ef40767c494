/** systemd by D-Bus, as the cgroup driver uses it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createLinuxSystemd } from '../../../src/host/linux/systemd/linux-systemd.ts';
import { UNLIMITED } from '../../../src/host/systemd.ts';
import { systemdSkipReason } from '../systemd-skip.ts';

const skip = systemdSkipReason();
const name = `nodelettest${randomBytes(3).toString('hex')}`;
const parent = `${name}.slice`;
const unit = `${name}-pod1.slice`;
const folder = `/sys/fs/cgroup/${parent}/${unit}`;
const systemd = createLinuxSystemd();

test('systemd: a transient slice has its cgroup, limits that survive a reload, and ends without a trace', {
  skip,
}, async (t) => {
  t.after(() => systemd.stopUnit(parent));
  await systemd.startTransientUnit(unit, { Description: 'test', Wants: [parent], DefaultDependencies: false });
  await systemd.startTransientUnit(unit, { Description: 'again' });
  assert.ok(existsSync(folder), `${folder} exists`);

  await systemd.setUnitProperties(unit, {
    CPUWeight: 39n,
    CPUQuotaPerSecUSec: 500_000n,
    CPUQuotaPeriodUSec: 100_000n,
    MemoryMax: 67_108_864n,
    TasksMax: 100n,
  });
  const expected = { 'cpu.weight': '39', 'cpu.max': '50000 100000', 'memory.max': '67108864', 'pids.max': '100' };
  assert.deepEqual(values(Object.keys(expected)), expected);
  execFileSync('systemctl', ['daemon-reload']);
  assert.deepEqual(values(Object.keys(expected)), expected);

  await systemd.setUnitProperties(unit, { MemoryMax: UNLIMITED, TasksMax: UNLIMITED });
  assert.deepEqual(values(['memory.max', 'pids.max']), { 'memory.max': 'max', 'pids.max': 'max' });

  await systemd.stopUnit(unit);
  await systemd.stopUnit(unit);
  assert.equal(existsSync(folder), false);
});

test('systemd: errors name the unit and the reason', { skip }, async () => {
  await assert.rejects(systemd.setUnitProperties('nodelet-missing.service', { TasksMax: 1n }), {
    name: 'SystemdError',
    message: 'cannot change unit nodelet-missing.service: Unit nodelet-missing.service not found.',
  });
  await assert.rejects(systemd.startTransientUnit('nodelet test.slice', {}), {
    name: 'SystemdError',
    message: /^cannot start unit nodelet test\.slice: Invalid unit name/,
  });
  await assert.rejects(createLinuxSystemd({ socket: '/run/nodelet-missing' }).stopUnit('a.slice'), {
    name: 'SystemdError',
    message: 'cannot stop unit a.slice: connect ENOENT /run/nodelet-missing',
  });
});

function values(files: readonly string[]): Record<string, string> {
  return Object.fromEntries(files.map((file) => [file, readFileSync(`${folder}/${file}`, 'utf8').trim()]));
}
