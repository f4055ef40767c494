/** Claims of `nodelet run` without a cluster: real containers, `kill -9`, and `nodelet volume`. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { type CommandResult, type RunningNodelet, TestNodelet } from './nodelet-fixture.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { becomes } from './until.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const DATABASE = join(import.meta.dirname, '../../examples/database.yaml');
const IMAGE = 'localhost/nodelet/busybox:1';

const EPHEMERAL = `apiVersion: v1
kind: Pod
metadata: {name: worker}
spec:
  terminationGracePeriodSeconds: 1
  volumes:
  - name: scratch
    ephemeral:
      volumeClaimTemplate:
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}
  containers:
  - name: main
    image: "${IMAGE}"
    command: [sh, -c, "trap 'exit 0' TERM; echo x > /scratch/file; echo written; sleep 1000 & wait"]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
`;

const FAST = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: fast}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers:
  - {name: main, image: "${IMAGE}", command: [sleep, "1000"], volumeMounts: [{name: data, mountPath: /data}]}
`;

/** Two pods on one ReadWriteOncePod claim, which is bound to a PersistentVolume. */
function shared(folder: string): string {
  const pod = (name: string): string => `---
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: data, persistentVolumeClaim: {claimName: shared}}]
  containers:
  - name: main
    image: "${IMAGE}"
    command: [sh, -c, "trap 'exit 0' TERM; cat /data/greeting; sleep 1000 & wait"]
    volumeMounts: [{name: data, mountPath: /data}]
`;
  return `apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {storageClassName: manual, accessModes: [ReadWriteOncePod], capacity: {storage: 1Gi}, hostPath: {path: ${folder}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: shared}
spec: {storageClassName: manual, accessModes: [ReadWriteOncePod], resources: {requests: {storage: 1Gi}}}
${pod('one')}${pod('two')}`;
}

suite('claims of nodelet run', { skip: embeddedSkipReason(), timeout: 900_000 }, () => {
  const nodelet = new TestNodelet();
  const volumes = join(nodelet.rootDir, 'volumes');
  after(() => nodelet.cleanUp());

  function volume(...args: string[]): CommandResult {
    const [verb = '', ...rest] = args;
    const { status, stdout, stderr } = spawnSync(BIN, ['volume', verb, '--root', nodelet.rootDir, ...rest], {
      encoding: 'utf8',
    });
    return { exitCode: status ?? 128, stdout, stderr };
  }

  async function stop(run: RunningNodelet): Promise<void> {
    run.process.kill('SIGINT');
    assert.equal(await run.exited, 0, run.output());
  }

  test('keep the data of a pod over kill -9 and a second run', async () => {
    const killed = nodelet.run(DATABASE);
    await killed.line(/database\/database \| visits: 1$/m);
    await killed.line(/● ready/);
    killed.process.kill('SIGKILL');
    await killed.exited;
    const refused = volume('rm', 'visits');
    assert.equal(refused.exitCode, 1);
    assert.match(refused.stderr, /^nodelet volume: volume "default\/visits" is in use by pod default\/database-\S+\n$/);
    const takenOver = nodelet.run(DATABASE);
    await takenOver.line(/● ready/);
    assert.equal(volume('rm', 'visits').exitCode, 1);
    await stop(takenOver);
    assert.deepEqual(nodelet.remainingResources(), []);
    const second = nodelet.run(DATABASE);
    await second.line(/database\/database \| visits: 2$/m);
    const { stdout } = volume('ls');
    assert.match(
      stdout,
      /^NAME +USED +REQUESTED +USED BY +AGE +PATH\nvisits +\S+B +100Mi +database-\S+ +\S+ +\/\S+\/volumes\/default\/visits\n$/,
    );
    await stop(second);
    assert.equal(statSync(join(volumes, 'default/visits')).gid, 1000);
    assert.equal(statSync(volumes).mode & 0o777, 0o700);
  });

  test('volume ls, inspect and rm work without an agent', () => {
    const listed = volume('ls', '-o', 'json');
    const [shown] = JSON.parse(listed.stdout);
    assert.deepEqual([shown.name, shown.requested, shown.usedBy], ['visits', '100Mi', []]);
    assert.ok(shown.used.bytes > 0, listed.stdout);
    const { stdout } = volume('inspect', 'default/visits');
    assert.match(stdout, /^Requested: +100Mi \(not enforced\)$/m);
    assert.match(stdout, /^Used by: +<none>$/m);
    assert.deepEqual(volume('rm', 'visits'), { exitCode: 0, stdout: 'default/visits removed\n', stderr: '' });
    assert.ok(!existsSync(join(volumes, 'default/visits')));
    assert.deepEqual(readdirSync(join(volumes, '.removed')), []);
    const missing = { exitCode: 1, stdout: '', stderr: 'nodelet volume: volume "default/visits" not found\n' };
    assert.deepEqual(volume('rm', 'visits'), missing);
    assert.deepEqual(volume('ls'), { exitCode: 0, stdout: '', stderr: 'No volumes found.\n' });
  });

  test('an ephemeral volume is removed with its pod, also after kill -9', async () => {
    const killed = nodelet.run(nodelet.write('worker.yaml', EPHEMERAL));
    await killed.line(/worker\/main \| written$/m);
    const [name = ''] = readdirSync(join(volumes, 'default'));
    assert.match(name, /^worker-.*-scratch$/);
    killed.process.kill('SIGKILL');
    await killed.exited;
    assert.ok(existsSync(join(volumes, 'default', name, 'file')));
    const next = nodelet.run(nodelet.write('fast.yaml', FAST));
    await becomes(() => existsSync(join(volumes, 'default', name)), false);
    await next.line(/fast/);
    await becomes(async () => /asks for StorageClass "fast"/.test((await nodelet.command('why', 'fast')).stdout), true);
    const { stdout } = await nodelet.command('why', 'fast');
    assert.match(
      stdout,
      /PersistentVolumeClaim "data" asks for StorageClass "fast", and a node without a cluster provides only "nodelet-local"/,
    );
    await stop(next);
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('a ReadWriteOncePod volume of the manifests goes to the second pod after the first', async () => {
    writeFileSync(join(nodelet.folder, 'greeting'), 'hello from the disk\n');
    const run = nodelet.run(nodelet.write('shared.yaml', shared(nodelet.folder)));
    const [, first = ''] = await run.line(/(one|two)\/main \| hello from the disk$/m);
    const second = first === 'one' ? 'two' : 'one';
    const inUse = new RegExp(`already in use by another pod \\(default/${first}-`);
    await becomes(async () => inUse.test((await nodelet.command('why', second)).stdout), true);
    assert.equal((await nodelet.command('stop', first)).exitCode, 0);
    await run.line(new RegExp(`${second}/main \\| hello from the disk$`, 'm'));
    await stop(run);
    assert.deepEqual(volume('rm', 'shared'), {
      exitCode: 0,
      stdout: 'default/shared released; the files of PersistentVolume disk stay\n',
      stderr: '',
    });
    assert.ok(existsSync(join(nodelet.folder, 'greeting')));
  });
});
