import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import test from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { MemoryMounts } from '../../host/fake/memory-mounts.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { PodError, type PodErrorReason, podErrorEvent } from '../pod/pod-error.ts';
import { exampleContainer, examplePod } from '../sync/config/pod.fixture.ts';
import { prepareContainerFiles } from './container-files.ts';
import { PodDirectories } from './pod-directories.ts';

const signal = new AbortController().signal;
const settings = { rootDir: '/k', podLogsDir: '/log', clusterDomain: 'cluster.local' };
const pod = examplePod();

/** A pod that is only known from its directories. */
function nameless(uid: string): Pod {
  return { metadata: { uid, name: '', namespace: '' }, spec: { containers: [] } };
}

function machine() {
  const fs = new MemoryFileSystem(() => 0);
  return { fs, mounts: new MemoryMounts(fs), directories: new PodDirectories({ fs, settings }) };
}

test('PodDirectories creates a pod’s directories with kubelet’s modes', async () => {
  const { fs, directories } = machine();
  await directories.prepare(pod, signal);
  await directories.prepare(pod, signal);
  const folders = ['/k/pods', '/k/pods/u1', '/k/pods/u1/volumes', '/k/pods/u1/plugins', '/log/default_hello_u1'];
  const modes = await Promise.all(folders.map(async (path) => (await fs.stat(path))?.mode.toString(8)));
  assert.deepEqual(modes, ['750', '750', '750', '750', '755']);
  assert.deepEqual(await directories.existing(), ['u1']);
});

const blocked: Record<string, { file: string; reason: PodErrorReason; event: RegExp }> = {
  'a data directory': {
    file: '/k/pods/u1/volumes',
    reason: 'FailedToMakePodDataDirectories',
    event: /^Failed error making pod data directories: /,
  },
  'the log directory': {
    file: '/log/default_hello_u1',
    reason: 'CreatePodSandboxError',
    event: /^FailedCreatePodSandBox Failed to create pod sandbox: /,
  },
};
for (const [what, { file, reason, event }] of Object.entries(blocked)) {
  test(`PodDirectories fails with kubelet’s event if ${what} cannot be made`, async () => {
    const { fs, directories } = machine();
    await fs.makeDirectory(dirname(file));
    await fs.writeFile(file, '');
    await assert.rejects(directories.prepare(pod, signal), (error: unknown) => {
      assert.ok(error instanceof PodError);
      assert.equal(error.reason, reason);
      const shown = podErrorEvent(error);
      assert.match(`${shown.reason} ${shown.message}`, event);
      return true;
    });
  });
}

test('PodDirectories keeps everything until the pod is purged', async () => {
  const { fs, directories } = machine();
  await directories.prepare(pod, signal);
  await fs.makeDirectory('/log/default_other_u2');
  await directories.release();
  assert.ok(await fs.stat('/log/default_hello_u1'));
  await directories.purge(pod, signal);
  await directories.purge(pod, signal);
  assert.deepEqual(await directories.existing(), ['u2']);
  assert.deepEqual(
    (await fs.readDirectory('/log')).map(({ name }) => name),
    ['default_other_u2'],
  );
});

test('PodDirectories finds a pod that has only logs left', async () => {
  const { fs, directories } = machine();
  for (const folder of ['default_web_u3', 'not-a-pod', 'a_b_']) await fs.makeDirectory(`/log/${folder}`);
  assert.deepEqual(await directories.existing(), ['u3']);
  await directories.purge(nameless('u3'), signal);
  assert.deepEqual(await directories.existing(), []);
});

test('PodDirectories removes nothing through a mount', async () => {
  const { fs, mounts, directories } = machine();
  await directories.prepare(pod, signal);
  await fs.makeDirectory('/k/pods/u1/volumes/x');
  await mounts.mount({ source: 'tmpfs', target: '/k/pods/u1/volumes/x', type: 'tmpfs' });
  await fs.writeFile('/k/pods/u1/volumes/x/precious', 'data');
  await assert.rejects(directories.purge(pod, signal), { code: 'EBUSY' });
  assert.equal(await fs.readText('/k/pods/u1/volumes/x/precious'), 'data');
});

test('PodDirectories rejects a UID that leads to another directory', async () => {
  const { directories } = machine();
  for (const uid of ['', '.', '..', 'a/b'])
    await assert.rejects(directories.purge(nameless(uid), signal), /invalid pod UID/);
});

test('prepareContainerFiles() creates a termination message for each start', async () => {
  const { fs, directories } = machine();
  await directories.prepare(pod, signal);
  const deps = { fs, random: new SeededRandom(1), settings };
  const first = await prepareContainerFiles(pod, exampleContainer, ['10.0.0.1'], deps);
  const second = await prepareContainerFiles(pod, exampleContainer, ['10.0.0.2'], deps);
  assert.match(first.terminationLog ?? '', /^\/k\/pods\/u1\/containers\/web\/[0-9a-f]{8}$/);
  assert.notEqual(first.terminationLog, second.terminationLog);
  assert.equal((await fs.stat(first.terminationLog ?? ''))?.mode, 0o666);
  assert.equal((await fs.stat('/k/pods/u1/containers/web'))?.mode, 0o750);
  assert.equal((await fs.stat('/log/default_hello_u1/web'))?.mode, 0o755);
  assert.equal(second.hostsFile, '/k/pods/u1/etc-hosts');
  assert.match(await fs.readText('/k/pods/u1/etc-hosts'), /^10\.0\.0\.2\thello$/m);
  assert.equal((await fs.stat('/k/pods/u1/etc-hosts'))?.mode, 0o644);
});

test('prepareContainerFiles() creates only requested files', async () => {
  const { fs, directories } = machine();
  await directories.prepare(pod, signal);
  const silent = { ...exampleContainer, terminationMessagePath: '' };
  const deps = { fs, random: new SeededRandom(1), settings };
  assert.deepEqual(await prepareContainerFiles(pod, silent, [], deps), {
    hostsFile: undefined,
    terminationLog: undefined,
  });
});

test('prepareContainerFiles() starts from the node’s hosts file on the host network', async () => {
  const { fs, directories } = machine();
  const onHost = examplePod({ spec: { hostNetwork: true } });
  await directories.prepare(onHost, signal);
  await fs.makeDirectory('/etc');
  await fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
  await prepareContainerFiles(onHost, exampleContainer, [], { fs, random: new SeededRandom(1), settings });
  const text = '# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n';
  assert.equal(await fs.readText('/k/pods/u1/etc-hosts'), text);
});
