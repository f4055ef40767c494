/** `kill -9` at any instant is a way to stop: the next agent goes on where the last one was. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { workingSnapshotter } from '../../src/app/private-runtime/machine-limits.ts';
import { linuxFileSystem } from '../../src/host/linux/linux-file-system.ts';
import { linuxMounts } from '../../src/host/linux/linux-mounts.ts';
import { skipReason } from './containerd-fixture.ts';
import { crashLoop } from './crash-loop.ts';

const SECONDS = 20;

test('an agent that is killed in a loop while pods come and go leaks nothing and restarts nothing', {
  skip: skipReason(),
  timeout: 300_000,
}, async (t) => {
  const { kills, created, deleted, wrong, leaks, exitCode, output } = await crashLoop({
    seconds: SECONDS,
    seed: 1,
    slot: 1,
  });
  t.diagnostic(`killed ${kills} times, ${created} pods created, ${deleted} deleted`);
  assert.ok(kills >= 3 && created >= 20, `${kills} kills, ${created} pods`);
  assert.deepEqual({ wrong, leaks, exitCode }, { wrong: [], leaks: [], exitCode: 0 }, output);
});

test('a start that was killed while it tried an overlay does not change what the next one finds', {
  skip: skipReason(),
}, async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'nodelet-probe-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const found = await workingSnapshotter(root, linuxFileSystem, linuxMounts);
  const killed = new Error('killed');
  const dies = {
    ...linuxMounts,
    unmount: async (target: string) => {
      if ((await linuxMounts.list()).some((mount) => mount.target === target)) throw killed;
    },
  };
  const first = workingSnapshotter(root, linuxFileSystem, dies);
  if (found === 'overlayfs') await assert.rejects(first, killed);
  assert.equal(await workingSnapshotter(root, linuxFileSystem, linuxMounts), found);
});
