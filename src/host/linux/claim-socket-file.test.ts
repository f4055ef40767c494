import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimSocketFile } from './claim-socket-file.ts';

/** Above what the kernel gives out. */
const DEAD = 2 ** 23;

test('what processes left that were killed while they claimed a socket goes; those of the living stay', async (t) => {
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
