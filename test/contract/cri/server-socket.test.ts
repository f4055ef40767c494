/** The socket file of a CRI server, and errors of the server that listens on it. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { serveCri } from '../../../src/cri/server.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import { runtimeWith } from './partial-runtime.ts';

function scene(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-cri-'));
  chmodSync(folder, 0o755);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, socket: { socketPath: join(folder, 'cri.sock'), mode: 0o660, clock: linuxClock } };
}

test('no other user can reach the CRI socket before it has its mode', async (t) => {
  const { folder, socket } = scene(t);
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  const reachable: boolean[] = [];
  const fs: typeof linuxFileSystem = {
    ...linuxFileSystem,
    changeMode: async (path, mode) => {
      const folders = dirname(path) === folder ? [folder] : [folder, dirname(path)];
      reachable.push(folders.every((each) => (statSync(each).mode & 0o011) !== 0));
      await linuxFileSystem.changeMode(path, mode);
    },
  };
  const server = await serveCri({ ...socket, fs }, runtimeWith({}));
  assert.deepEqual(reachable, [false]);
  assert.deepEqual(readdirSync(folder), ['cri.sock']);
  assert.equal(statSync(socket.socketPath).mode & 0o777, 0o660);
  await server.close();
  assert.deepEqual(readdirSync(folder), []);
});

test('an error of the listening CRI server is logged and does not end the process', async (t) => {
  const { socket } = scene(t);
  const servers = new Set<Server>();
  const { listen } = Server.prototype;
  t.mock.method(Server.prototype, 'listen', function (this: Server, ...args: Parameters<Server['listen']>) {
    servers.add(this);
    return Reflect.apply(listen, this, args);
  });
  const logged: unknown[] = [];
  const log = { ...silentLog, warn: (message: string, fields: unknown) => void logged.push([message, fields]) };
  const server = await serveCri({ ...socket, fs: linuxFileSystem, log }, runtimeWith({}));
  t.after(() => server.close());
  for (const each of servers) each.emit('error', new Error('accept EMFILE'));
  assert.deepEqual(logged, [
    ['cannot accept a CRI connection', { socketPath: socket.socketPath, error: 'accept EMFILE' }],
  ]);
});
