import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { cgroupOfProcess } from './own-cgroup.ts';
import { checkSystemCgroups, keepSystemCgroups, type SystemCgroupSettings } from './system-cgroups.ts';

const AGENT = 100;
const KERNEL_THREAD = 2;

async function machine({ pidNamespace = 'pid:[1]' } = {}) {
  const host = createMemoryHost();
  const { fs, cgroups, clock } = host;
  const logged: string[] = [];
  for (const [pid, namespace] of Object.entries({ 1: 'pid:[1]', [AGENT]: pidNamespace })) {
    await fs.makeDirectory(`/proc/${pid}/ns`);
    await fs.symbolicLink(namespace, `/proc/${pid}/ns/pid`);
  }
  const start = async (pid: number): Promise<void> => {
    await fs.makeDirectory(`/proc/${pid}`);
    if (pid !== KERNEL_THREAD) await fs.symbolicLink('/usr/bin/program', `/proc/${pid}/exe`);
    await fs.writeFile(`/proc/${pid}/cgroup`, '0::/\n');
    cgroups.enter('/', pid);
  };
  for (const pid of [1, KERNEL_THREAD, 50, AGENT]) await start(pid);
  const log = {
    info: (message: string, fields: object = {}) => void logged.push(`${message} ${JSON.stringify(fields)}`),
  };
  const life = new AbortController();
  const run = (settings: SystemCgroupSettings) =>
    keepSystemCgroups(settings, { fs, cgroups, clock, log, pid: AGENT }, life.signal);
  return { fs, cgroups, clock, logged, start, run, stop: () => life.abort(new Error('over')) };
}

test('processes of the root cgroup are moved, also later ones; process 1 and kernel threads stay', async () => {
  const { cgroups, clock, start, run, stop, logged } = await machine();
  const running = run({ system: '/system' });
  await clock.advance(1_000);
  assert.deepEqual(await cgroups.ownProcesses('/system'), [50, AGENT]);
  await start(51);
  await clock.advance(60_000);
  assert.deepEqual(await cgroups.ownProcesses('/system'), [50, 51, AGENT]);
  assert.deepEqual(await cgroups.ownProcesses('/'), [1, KERNEL_THREAD]);
  assert.deepEqual(logged, []);
  stop();
  await running;
});

test('the agent moves itself, unless it is in a container', async () => {
  const world = await machine();
  const running = world.run({ kubelet: '/kube/agent' });
  await world.clock.advance(1_000);
  assert.deepEqual(await world.cgroups.ownProcesses('/kube/agent'), [AGENT]);
  world.stop();
  await running;

  const inside = await machine({ pidNamespace: 'pid:[2]' });
  const staying = inside.run({ kubelet: '/kube/agent' });
  await inside.clock.advance(1_000);
  assert.equal(await inside.cgroups.exists('/kube/agent'), false);
  assert.match(inside.logged[0] ?? '', /PID is not running in the host namespace/);
  inside.stop();
  await staying;
});

test('a failed move is logged with its reason, and tried again', async () => {
  const { cgroups, clock, run, stop, logged } = await machine();
  cgroups.errors.failNext('addProcess', 'EBUSY', '/kube');
  const running = run({ kubelet: '/kube' });
  await clock.advance(1_000);
  assert.match(logged[0] ?? '', /Failed to ensure state .*failed to move PID 100 \(in .*\/.*\) to .*\/kube.*EBUSY/);
  await clock.advance(60_000);
  assert.deepEqual(await cgroups.ownProcesses('/kube'), [AGENT]);
  stop();
  await running;
});

test('an agent in different cgroups is moved, and the reason logged once', async () => {
  const { cgroups, clock, run, stop, logged, fs } = await machine();
  await fs.writeFile(`/proc/${AGENT}/cgroup`, 'nothing');
  const running = run({ kubelet: '/kube' });
  await clock.advance(1_000);
  assert.deepEqual(await cgroups.ownProcesses('/kube'), [AGENT]);
  await fs.writeFile(`/proc/${AGENT}/cgroup`, '0::/kube\n');
  await clock.advance(120_000);
  assert.equal(logged.length, 1);
  assert.match(logged[0] ?? '', /failed to find container of PID 100: mountpoint for unified not found/);
  stop();
  await running;
});

test('without names nothing is done; the root is no system cgroup', async () => {
  const { run } = await machine();
  await run({});
  assert.throws(() => checkSystemCgroups({ system: '/' }), { message: 'system container cannot be root ("/")' });
  checkSystemCgroups({ system: '/system' });
});

test('cgroupOfProcess() reads the hierarchy that a process is accounted in', () => {
  assert.equal(cgroupOfProcess('0::/system.slice/agent.service\n', 'v2'), '/system.slice/agent.service');
  assert.equal(cgroupOfProcess('2:cpu,cpuacct:/a\n1:memory:/a\n', 'v1'), '/a');
  assert.equal(cgroupOfProcess('3:cpu:/\n2:memory:/\n1:name=systemd:/user.slice\n', 'v1'), '/user.slice');
  assert.throws(() => cgroupOfProcess('2:cpu:/a\n1:memory:/b\n', 'v1'), {
    message: 'cpu and memory cgroup hierarchy not unified.  cpu: /a, memory: /b',
  });
  assert.throws(() => cgroupOfProcess('', 'v2'), { message: 'mountpoint for unified not found' });
});
