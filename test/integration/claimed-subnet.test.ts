import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { type claimSubnet, ownerOf } from './claimed-subnet.ts';

/** Consecutive process ids: these begin with the same candidates. */
const PROCESSES = 4;
const EACH = 50;

test('no two test processes have the same addresses, and processes release theirs when they exit', async () => {
  const script = `
    const { claimSubnet } = await import(${JSON.stringify(join(import.meta.dirname, 'claimed-subnet.ts'))});
    const claimed = Array.from({ length: ${EACH} }, () => claimSubnet());
    console.log(JSON.stringify({ pid: process.pid, claimed }));
    for await (const _ of process.stdin);`;
  const run = promisify(execFile);
  const running = Array.from({ length: PROCESSES }, () =>
    run(process.execPath, ['--input-type=module', '--eval', script]),
  );
  const printed = running.map(
    ({ child }) => new Promise<void>((resolve) => child.stdout?.once('data', () => resolve())),
  );
  await Promise.all(printed);
  for (const { child } of running) child.stdin?.end();
  const results = (await Promise.all(running)).map(
    ({ stdout }): { pid: number; claimed: ReturnType<typeof claimSubnet>[] } => JSON.parse(stdout),
  );
  const all = results.flatMap(({ claimed }) => claimed);
  assert.equal(new Set(all.map(({ v4 }) => v4)).size, PROCESSES * EACH);
  assert.equal(new Set(all.map(({ v6 }) => v6)).size, PROCESSES * EACH);
  const pids = new Set(results.map(({ pid }) => String(pid)));
  const claims = readdirSync(tmpdir()).filter((name) => name.startsWith('nodelet-subnet-'));
  assert.deepEqual(
    claims.filter((name) => pids.has(ownerOf(join(tmpdir(), name)))),
    [],
  );
});
