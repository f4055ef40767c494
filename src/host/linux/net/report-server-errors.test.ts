import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { linuxNetwork } from '../linux-network.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };
const refuse = async () => ({ status: 404, body: '' });
const KINDS: Record<string, (socketPath: string) => Promise<{ close(): Promise<void> }>> = {
  serve: (socketPath) => linuxNetwork.serve({ socketPath, mode: 0o600 }, refuse),
  serveTcp: () => linuxNetwork.serveTcp(LOOPBACK, refuse),
  serveStream: (socketPath) => linuxNetwork.serveStream({ socketPath, mode: 0o600 }, () => {}),
  serveTls: () =>
    linuxNetwork.serveTls(LOOPBACK, {}, async () => ({ kind: 'response', response: { status: 404, body: '' } })),
  serveUpgrades: () => linuxNetwork.serveUpgrades(() => ({ kind: 'refuse', status: 404, message: '' })),
};

/** The servers that listen from now on. */
function listening(t: TestContext): ReadonlySet<Server> {
  const servers = new Set<Server>();
  const { listen } = Server.prototype;
  t.mock.method(Server.prototype, 'listen', function (this: Server, ...args: Parameters<Server['listen']>) {
    servers.add(this);
    return Reflect.apply(listen, this, args);
  });
  return servers;
}

for (const [kind, start] of Object.entries(KINDS)) {
  test(`${kind}(): an error of the listening server is reported and does not end the process`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'nodelet-errors-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const servers = listening(t);
    const running = await start(join(folder, 'a.sock'));
    t.after(() => running.close());
    const [server] = servers;
    assert.ok(server);
    const warned = once(process, 'warning');
    for (let count = 0; count < 3; count++) server.emit('error', new Error('accept EMFILE'));
    const [{ name, message }] = await warned;
    assert.equal(name, 'ServerWarning');
    assert.match(message, /^cannot accept a connection at \S+: accept EMFILE$/);
    assert.equal(server.listening, true);
  });
}
