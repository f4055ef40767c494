/** The profiles of this process are opened by `go tool pprof`. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { serveProfile } from '../../src/kubelet/server/serve-profile.ts';

const skip = spawnSync('go', ['version']).status === 0 ? false : 'go is not installed';
const kept: unknown[] = [];

/** Takes time and memory. */
function busyWork(): readonly string[] {
  return Array.from({ length: 20_000 }, (_, index) => `${index} of ${kept.length}`);
}

const EXPECTED: readonly (readonly [name: string, type: RegExp])[] = [
  ['profile', /^Type: cpu\n/m],
  ['heap', /^Type: inuse_space\n/m],
  ['allocs', /^Type: alloc_space\n/m],
];

for (const [name, type] of EXPECTED) {
  test(`go tool pprof shows the functions of /debug/pprof/${name}`, { skip }, async (t) => {
    const host = createLinuxHost(process.env);
    const query = new URLSearchParams('seconds=1');
    const answer = serveProfile(host, name, { query, signal: t.signal });
    const end = performance.now() + 1000;
    while (performance.now() < end) {
      kept.push(busyWork());
      await sleep(0);
    }
    const { status, headers, body } = await answer;
    assert.deepEqual([status, headers?.['content-type']], [200, 'application/octet-stream']);
    assert.ok(typeof body !== 'string');
    const folder = mkdtempSync(join(tmpdir(), 'nodelet-pprof-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, name);
    writeFileSync(path, Buffer.concat((await Array.fromAsync(body)).map((chunk) => Buffer.from(chunk))));
    const env = { ...process.env, PPROF_TMPDIR: folder };
    const { stdout } = await promisify(execFile)('go', ['tool', 'pprof', '-top', path], { env });
    assert.match(stdout, type);
    assert.match(stdout, /Duration: 1\.?\d*m?s/);
    assert.match(stdout, /\d+.* busyWork/);
    const { stdout: lines } = await promisify(execFile)('go', ['tool', 'pprof', '-traces', '-lines', path], { env });
    assert.match(lines, /busyWork .*pprof\.test\.ts:\d+/);
  });
}
