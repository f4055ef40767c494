import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimSocketFile } from './claim-socket-file.ts';

/** Above the kernel's largest pid. */
const DEAD = 2 ** 23;

test('claimSocketFile() removes the folders of killed processes, and keeps those of running ones', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'claim-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [dead, living] = [DEAD, process.ppid].map((pid) => `.s${pid.toString(36)}.0`);
  for (const name of [dead, living, '.ssh']) mkdirSync(join(folder, `${name}`, 's'), { recursive: true });
  const server = createServer();
  const { release } = await claimSocketFile(server, { socketPath: join(folder, 'a.sock'), mode: 0o600 });
  assert.deepEqual(new Set(readdirSync(folder)), new Set(['.ssh', `${living}`, 'a.sock']));
  await release();
  server.close();
  assert.equal(existsSync(join(folder, 'a.sock')), false);
});

/** Reports that it is up, waits for the path, and reports the result of its claim; exits when it is disconnected. */
const CLAIMANT = `
  import { createServer } from 'node:net';
  const { claimSocketFile } = await import(process.argv[2]);
  process.send('up');
  process.once('message', async (socketPath) => {
    const claim = claimSocketFile(createServer(), { socketPath, mode: 0o600 });
    process.send(await claim.then(() => 'won', ({ code }) => code));
  });
  process.once('disconnect', () => process.exit());
`;

test('exactly one of many concurrent processes replaces a stale socket', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'claim-'));
  const socketPath = join(folder, 'a.sock');
  await leaveStaleSocket(socketPath);
  writeFileSync(join(folder, 'claimant.mjs'), CLAIMANT);
  const children = Array.from({ length: 4 }, () =>
    fork(join(folder, 'claimant.mjs'), [import.meta.resolve('./claim-socket-file.ts')], { execArgv: [] }),
  );
  t.after(() => {
    for (const child of children) child.disconnect();
    rmSync(folder, { recursive: true });
  });
  await Promise.all(children.map((child) => once(child, 'message')));
  const results = children.map((child) => once(child, 'message').then(([result]) => result));
  for (const child of children) child.send(socketPath);
  assert.deepEqual((await Promise.all(results)).toSorted(), ['EADDRINUSE', 'EADDRINUSE', 'EADDRINUSE', 'won']);
});

async function leaveStaleSocket(socketPath: string): Promise<void> {
  const server = createServer();
  server.listen(`${socketPath}.1`);
  await once(server, 'listening');
  linkSync(`${socketPath}.1`, `${socketPath}.2`);
  server.close(); // removes the name that it listened on
  await once(server, 'close');
  renameSync(`${socketPath}.2`, socketPath);
}
