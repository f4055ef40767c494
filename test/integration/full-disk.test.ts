/** A disk below `--root` that a pod fills, and one that is too small from the beginning. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { TestNodelet } from './nodelet-fixture.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { until } from './until.ts';

const skip = embeddedSkipReason();
const timeout = 300_000;

/** Writes each byte that becomes free. */
const FILLER = `apiVersion: v1
kind: Pod
metadata: {name: filler}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: "localhost/nodelet/busybox:1"
    command: [sh, -c, "while :; do cat /dev/zero >> /data/zeros; sleep 0.01; done 2>/dev/null"]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, emptyDir: {}}]
`;

/** A nodelet whose root is a file system of this size. */
function nodeletOn(t: TestContext, mebibytes: number): TestNodelet {
  const nodelet = new TestNodelet();
  const image = join(nodelet.folder, 'disk');
  writeFileSync(image, '');
  truncateSync(image, mebibytes * 2 ** 20);
  mkdirSync(nodelet.rootDir);
  try {
    // On ext4 even a new directory needs space; on a tmpfs it does not.
    execFileSync('mkfs.ext4', ['-q', '-m', '0', image]);
    execFileSync('mount', ['-o', 'loop', image, nodelet.rootDir], { stdio: 'pipe' });
  } catch (error) {
    t.diagnostic(`no loop device, a tmpfs instead: ${error}`);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=755`, 'tmpfs', nodelet.rootDir]);
  }
  t.after(async () => {
    // Its shutdown needs the disk, and removes the directory.
    await nodelet.cleanUp(() => execFileSync('umount', ['--lazy', nodelet.rootDir]));
  });
  return nodelet;
}

function isFull(folder: string): boolean {
  return statfsSync(folder).bavail === 0;
}

test('a pod that fills the disk of --root is reported and stopped', { skip, timeout }, async (t) => {
  const nodelet = nodeletOn(t, 48);
  const run = nodelet.run(nodelet.write('filler.yaml', FILLER));
  await run.line(/● ready/);
  await until(() => isFull(nodelet.rootDir));
  const diskFull = new RegExp(`disk of ${nodelet.rootDir}\\S* is full: [\\d.]+ [KM]?i?B of \\S+ MiB are free`);
  assert.match((await nodelet.command('why', 'filler')).stdout, diskFull);
  assert.match((await nodelet.command('ps')).stderr, diskFull);
  const stopped = await nodelet.command('stop', 'filler');
  assert.equal(stopped.exitCode, 0, `${stopped.stderr}\n${run.output()}`);
  assert.equal(isFull(nodelet.rootDir), false);
  run.process.kill('SIGTERM');
  assert.equal(await run.exited, 0, run.output());
});

test('an agent that is killed on a full disk adopts its pod and stops it', { skip, timeout }, async (t) => {
  const nodelet = nodeletOn(t, 48);
  const manifest = nodelet.write('filler.yaml', FILLER);
  const first = nodelet.run(manifest);
  await first.line(/● ready/);
  await until(() => isFull(nodelet.rootDir));
  first.process.kill('SIGKILL');
  await first.exited;
  const second = nodelet.run(manifest);
  await second.line(/● ready/);
  second.process.kill('SIGTERM');
  assert.equal(await second.exited, 0, second.output());
  assert.match(second.output(), /nothing left behind/);
});

test('a disk that is too small is one sentence', { skip, timeout }, async (t) => {
  const nodelet = nodeletOn(t, 6);
  const run = nodelet.run(nodelet.write('filler.yaml', FILLER));
  assert.equal(await run.exited, 1);
  const message = /^.*the disk of \S+\/root has too little space: the runtime needs 16\.0 MiB, and \S+ MiB are free$/m;
  assert.match(run.output(), message);
  assert.doesNotMatch(run.output(), /\n\s+at /);
});
