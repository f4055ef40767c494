/** The contract of logind. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import dbus from 'dbus-native';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { createLinuxLoginManager } from '../../../src/host/linux/systemd/linux-login-manager.ts';
import type { LoginManager } from '../../../src/host/login-manager.ts';
import { temporaryFolder } from './temporary-folder.ts';

interface World {
  readonly manager: LoginManager;
  /** Announces a shutdown, or its cancellation. */
  announce(isStarting: boolean): void;
  /** Changes the configured delay, which counts after the next reload. */
  configure(seconds: number): Promise<void>;
  /** Whether a lock is held. */
  isLocked(): boolean;
  /** The bus goes away. */
  stop(): void;
}

const FOREVER = new AbortController().signal;
const REASON = { who: 'kubelet', why: 'time' };
const LOGIND = { path: '/org/freedesktop/login1', name: 'org.freedesktop.login1.Manager' };

loginContract('memory', async () => {
  const { fs, loginManager } = createMemoryHost();
  return {
    manager: loginManager,
    announce: (isStarting) => loginManager.announce(isStarting),
    async configure(seconds) {
      await fs.makeDirectory('/etc/systemd/logind.conf.d');
      await fs.writeFile('/etc/systemd/logind.conf.d/99-kubelet.conf', `[Login]\nInhibitDelayMaxSec=${seconds}\n`);
    },
    isLocked: () => loginManager.locks.length > 0,
    stop: () => loginManager.disconnect(),
  };
});

/** A stand-in on a bus of its own, and a program that holds a file instead of a lock. */
loginContract('linux', async (t) => {
  const folder = await temporaryFolder(t);
  const socket = `${folder}/bus`;
  const broker = dbus.createBroker();
  await new Promise<void>((resolve, reject) =>
    broker.listen({ socket }, (error) => (error ? reject(error) : resolve())),
  );
  const service = dbus.createClient({ socket });
  const stop = (): void => {
    service.connection.end();
    broker.close();
  };
  t.after(stop);
  let configured = 5;
  let delay = 5;
  const logind = {
    get InhibitDelayMaxUSec() {
      return BigInt(delay) * 1_000_000n;
    },
  };
  service.exportInterface(logind, LOGIND.path, {
    name: LOGIND.name,
    properties: { InhibitDelayMaxUSec: 't' },
  });
  const kill = (unit: string, who: string, signal: number) => {
    assert.deepEqual([unit, who, signal], ['systemd-logind.service', 'all', 1]);
    delay = configured;
    return null;
  };
  service.exportInterface({ KillUnit: kill }, '/org/freedesktop/systemd1', {
    name: 'org.freedesktop.systemd1.Manager',
    methods: { KillUnit: ['ssi', '', [], []] },
  });
  await service.requestName('org.freedesktop.login1', 0);
  await service.requestName('org.freedesktop.systemd1', 0);
  const lock = `${folder}/lock`;
  const inhibitProgram = `${folder}/systemd-inhibit`;
  const script = `#!/bin/sh\ntest "$*" = "--what=shutdown --who=kubelet --why=time --mode=delay cat" || exit 9\n>${lock}\ncat\nrm ${lock}\n`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(inhibitProgram, script);
  chmodSync(inhibitProgram, 0o755);
  return {
    manager: createLinuxLoginManager({ socket, inhibitProgram, env: process.env }),
    announce: (isStarting) => service.sendSignal(LOGIND.path, LOGIND.name, 'PrepareForShutdown', 'b', [isStarting]),
    async configure(seconds) {
      configured = seconds;
    },
    isLocked: () => existsSync(lock),
    stop,
  };
});

function loginContract(name: string, makeWorld: (t: TestContext) => Promise<World>): void {
  test(`${name} login manager: announces shutdowns and cancellations`, async (t) => {
    const { manager, announce } = await makeWorld(t);
    const announced: boolean[] = [];
    const two = Promise.withResolvers<void>();
    const connection = await manager.connect((isStarting) => {
      announced.push(isStarting);
      if (announced.length === 2) two.resolve();
    }, FOREVER);
    announce(true);
    announce(false);
    await two.promise;
    assert.deepEqual(announced, [true, false]);
    connection.close();
    await connection.closed;
  });

  test(`${name} login manager: has the delay, and reads it again`, async (t) => {
    const { manager, configure } = await makeWorld(t);
    const connection = await manager.connect(() => undefined, FOREVER);
    assert.equal(await connection.inhibitDelayMs(FOREVER), 5_000);
    await configure(40);
    await connection.reloadConfiguration(FOREVER);
    assert.equal(await connection.inhibitDelayMs(FOREVER), 40_000);
    connection.close();
  });

  test(`${name} login manager: holds a lock until it is released`, async (t) => {
    const { manager, isLocked } = await makeWorld(t);
    const connection = await manager.connect(() => undefined, FOREVER);
    const lock = await connection.delayShutdown(REASON, FOREVER);
    assert.equal(isLocked(), true);
    await lock.release();
    assert.equal(isLocked(), false);
    connection.close();
  });

  test(`${name} login manager: reports a lost connection`, async (t) => {
    const { manager, stop } = await makeWorld(t);
    const connection = await manager.connect(() => undefined, FOREVER);
    stop();
    await connection.closed;
  });
}

test('linux login manager: names what cannot be reached, and what a lock fails with', async (t) => {
  const folder = await temporaryFolder(t);
  const missing = createLinuxLoginManager({ socket: `${folder}/bus` });
  await assert.rejects(
    missing.connect(() => undefined, FOREVER),
    { name: 'LoginManagerError', message: /^cannot reach logind: connect ENOENT/ },
  );
});
