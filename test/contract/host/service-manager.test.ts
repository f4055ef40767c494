/** The contract of service managers. */
import assert from 'node:assert/strict';
import { closeSync, readSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { MemoryServiceManager } from '../../../src/host/fake/memory-service-manager.ts';
import { createLinuxServiceManager } from '../../../src/host/linux/process/linux-service-manager.ts';
import { bind, socket, unixAddress } from '../../../src/host/linux/sys/socket-calls.ts';
import { notificationText, type ServiceManager } from '../../../src/host/service-manager.ts';
import { temporaryFolder } from './temporary-folder.ts';

interface ServiceWorld {
  readonly manager: ServiceManager;
  /** The datagrams so far. */
  received(): readonly string[];
  /** The service manager goes away. */
  stop(): void;
}

const PID = 4711;
const WATCHED = { WATCHDOG_USEC: '30000000', WATCHDOG_PID: String(PID) };

serviceContract('linux', async (t) => {
  const path = `${await temporaryFolder(t)}/notify`;
  const { received, close } = listenOn(path, path.length);
  return { manager: createLinuxServiceManager({ NOTIFY_SOCKET: path, ...WATCHED }, PID), received, stop: close };
});
serviceContract('memory', async () => {
  const manager = new MemoryServiceManager();
  manager.watchdog = 30_000;
  const stop = (): void => {
    manager.failure = 'cannot notify /run/notify: connect: ECONNREFUSED';
  };
  return { manager, received: () => manager.received.map(notificationText), stop };
});

function serviceContract(name: string, makeWorld: (t: TestContext) => Promise<ServiceWorld>): void {
  test(`${name} service manager: each notification is a datagram`, async (t) => {
    const { manager, received } = await makeWorld(t);
    await manager.notify({ ready: true, status: 'node box\nready' });
    await manager.notify({ watchdog: true });
    await manager.notify({ stopping: true, extendTimeoutMs: 1500 });
    assert.deepEqual(received(), [
      'READY=1\nSTATUS=node box ready',
      'WATCHDOG=1',
      'STOPPING=1\nEXTEND_TIMEOUT_USEC=1500000',
    ]);
    assert.equal(manager.watchdogMs(), 30_000);
  });

  test(`${name} service manager: one that is gone is an error`, async (t) => {
    const { manager, stop } = await makeWorld(t);
    stop();
    const failure = { name: 'ServiceManagerError', message: /^cannot notify .*: connect.*: ECONNREFUSED/ };
    await assert.rejects(manager.notify({ ready: true }), failure);
  });
}

test('linux service manager: an abstract socket', async () => {
  const name = `nodelet-notify-${process.pid}`;
  const { received, close } = listenOn(`\0${name}`, name.length + 1);
  await createLinuxServiceManager({ NOTIFY_SOCKET: `@${name}` }, PID).notify({ ready: true });
  assert.deepEqual(received(), ['READY=1']);
  close();
});

test('linux service manager: without one, nothing is sent or watched', async () => {
  const manager = createLinuxServiceManager({}, PID);
  await manager.notify({ ready: true });
  assert.equal(manager.watchdogMs(), undefined);
  assert.equal(createLinuxServiceManager({ ...WATCHED, WATCHDOG_PID: '1' }, PID).watchdogMs(), undefined);
  assert.throws(() => createLinuxServiceManager({ WATCHDOG_USEC: '30s' }, PID).watchdogMs(), {
    message: 'WATCHDOG_USEC is not a number of microseconds: 30s',
  });
});

function listenOn(path: string, pathBytes: number) {
  const address = unixAddress(path);
  const fd = socket(1, 2 | 0o2000000 | 0o4000, 0);
  bind(fd, address, 2 + pathBytes + (path.startsWith('\0') ? 0 : 1));
  const received = (): readonly string[] => {
    const texts: string[] = [];
    const buffer = Buffer.alloc(4096);
    for (;;) {
      try {
        texts.push(buffer.toString('utf8', 0, readSync(fd, buffer)));
      } catch {
        return texts; // EAGAIN: no further one
      }
    }
  };
  return { received, close: () => closeSync(fd) };
}
