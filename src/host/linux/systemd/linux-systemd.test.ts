/** The client on a real bus, with a stand-in for systemd. `make vm` tests it with systemd itself. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import dbus from 'dbus-native';
import { createLinuxSystemd } from './linux-systemd.ts';

const PATH = '/org/freedesktop/systemd1';
const MANAGER = 'org.freedesktop.systemd1.Manager';

type Job = 'done' | 'failed' | 'endless';

/** A bus with a manager whose jobs end as given; it records the calls. */
async function startBus(t: TestContext, job: Job = 'done', units: ReadonlySet<string> = new Set()) {
  const known = new Set(units);
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-bus-'));
  const socket = join(folder, 'bus');
  const broker = dbus.createBroker();
  await new Promise<void>((resolve, reject) =>
    broker.listen({ socket }, (error) => (error ? reject(error) : resolve())),
  );
  const service = dbus.createClient({ socket });
  t.after(() => {
    service.connection.end();
    broker.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const calls: unknown[] = [];
  let jobs = 0;
  const startJob = (unit: string): string => {
    const path = `${PATH}/job/${++jobs}`;
    if (job !== 'endless')
      setImmediate(() => service.sendSignal(PATH, MANAGER, 'JobRemoved', 'uoss', [jobs, path, unit, job]));
    return path;
  };
  const manager = {
    Subscribe: () => null,
    StartTransientUnit: (unit: string, mode: string, properties: unknown) => {
      calls.push(['start', unit, mode, dbus.toPlain(properties)]);
      if (unit.endsWith('.scope')) known.add(unit);
      return startJob(unit);
    },
    SetUnitProperties: (unit: string, isRuntime: boolean, properties: unknown) => {
      calls.push(['set', unit, isRuntime, dbus.toPlain(properties)]);
      return null;
    },
    StopUnit: (unit: string, mode: string) => {
      calls.push(['stop', unit, mode]);
      return startJob(unit);
    },
    AttachProcessesToUnit: (unit: string, path: string, pids: number[]) => {
      calls.push(['attach', unit, path, pids]);
      if (known.has(unit)) return null;
      throw Object.assign(new Error(`Unit ${unit} not loaded.`), { dbusName: 'org.freedesktop.systemd1.NoSuchUnit' });
    },
    ResetFailedUnit: (unit: string) => {
      calls.push(['reset', unit]);
      return null;
    },
  };
  service.exportInterface(manager, PATH, {
    name: MANAGER,
    methods: {
      Subscribe: ['', '', [], []],
      StartTransientUnit: ['ssa(sv)a(sa(sv))', 'o', [], []],
      SetUnitProperties: ['sba(sv)', '', [], []],
      StopUnit: ['ss', 'o', [], []],
      AttachProcessesToUnit: ['ssau', '', [], []],
      ResetFailedUnit: ['s', '', [], []],
    },
  });
  await service.requestName('org.freedesktop.systemd1', 0);
  return { socket, calls };
}

test('systemd over D-Bus: starts, changes and stops a unit, and waits for its jobs', async (t) => {
  const { socket, calls } = await startBus(t);
  const systemd = createLinuxSystemd({ socket });
  await systemd.startTransientUnit('a.slice', { Wants: ['-.slice'], MemoryAccounting: true });
  await systemd.setUnitProperties('a.slice', { MemoryMax: 1024n });
  await systemd.stopUnit('a.slice');
  assert.deepEqual(calls, [
    [
      'start',
      'a.slice',
      'replace',
      [
        ['Wants', ['-.slice']],
        ['MemoryAccounting', true],
      ],
    ],
    ['set', 'a.slice', true, [['MemoryMax', 1024n]]],
    ['stop', 'a.slice', 'replace'],
    ['reset', 'a.slice'],
  ]);
});

test('systemd over D-Bus: a failed job is an error, and the unit is reset', async (t) => {
  const { socket, calls } = await startBus(t, 'failed');
  await assert.rejects(createLinuxSystemd({ socket }).startTransientUnit('a.slice', {}), {
    name: 'SystemdError',
    message: 'cannot start unit a.slice: its job ended with the result failed',
  });
  assert.deepEqual(calls.at(-1), ['reset', 'a.slice']);
});

test('systemd over D-Bus: a job that does not end is given up', async (t) => {
  const { socket } = await startBus(t, 'endless');
  await assert.rejects(createLinuxSystemd({ socket, jobMs: 50 }).stopUnit('a.slice'), {
    message: 'cannot stop unit a.slice: systemd did not finish its job within 0.05 s',
  });
});

test('systemd over D-Bus: a missing bus is an error', async (t) => {
  const { socket } = await startBus(t);
  const systemd = createLinuxSystemd({ socket: `${socket}-missing` });
  await assert.rejects(systemd.stopUnit('a.slice'), {
    name: 'SystemdError',
    message: /^cannot stop unit a\.slice: connect ENOENT/,
  });
});

test('systemd over D-Bus: the first process creates a scope, further ones join it', async (t) => {
  const { socket, calls } = await startBus(t);
  const systemd = createLinuxSystemd({ socket });
  await systemd.moveToScope('a.scope', [11], { Delegate: true });
  await systemd.moveToScope('a.scope', [12], { Delegate: true });
  const properties = [
    ['Delegate', true],
    ['PIDs', [11]],
  ];
  assert.deepEqual(calls, [
    ['attach', 'a.scope', '/', [11]],
    ['start', 'a.scope', 'fail', properties],
    ['attach', 'a.scope', '/', [12]],
  ]);
});

test('systemd over D-Bus: a bus that accepts connections and never answers is an error', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-bus-'));
  const socket = join(folder, 'bus');
  const accepted: Socket[] = [];
  const server = createServer((connection) => void accepted.push(connection)).listen(socket);
  t.after(() => {
    for (const connection of accepted) connection.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const systemd = createLinuxSystemd({ socket, connectMs: 50 });
  const failure = { message: `cannot stop unit a.slice: the system bus (${socket}) did not answer within 0.05 s` };
  await assert.rejects(systemd.stopUnit('a.slice'), failure);
  await assert.rejects(systemd.stopUnit('a.slice'), failure); // by a new connection
});
