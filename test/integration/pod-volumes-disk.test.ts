/** Volumes on the real machine without a runtime: a root behind a symlink, a full disk. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { linuxMounts } from '../../src/host/linux/mount/linux-mounts.ts';
import { PodEvents } from '../../src/kubelet/events/pod-events.ts';
import { ManifestObjects } from '../../src/kubelet/objects/manifest-objects.ts';
import { PodVolumes } from '../../src/kubelet/volumes/pod-volumes.ts';
import { volumeDeps } from '../../src/kubelet/volumes/volumes.fixture.ts';
import { podOf } from '../agent/memory-agent.ts';
import { needsMounts } from '../contract/host/temporary-folder.ts';

const signal = new AbortController().signal;
const skip = needsMounts;

interface Machine {
  readonly volumes: PodVolumes;
  /** The real path of the root: a file system of 1 MiB. */
  readonly disk: string;
  /** As the agent knows it. */
  readonly rootDir: string;
  set(text: string): void;
}

async function machine(t: TestContext): Promise<Machine> {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-volumes-'));
  const disk = join(folder, 'disk');
  const rootDir = join(folder, 'kubelet');
  t.after(async () => {
    const below = (await linuxMounts.list()).filter(({ target }) => target.startsWith(`${folder}/`));
    for (const { target } of below.toReversed()) await linuxMounts.unmount(target, { lazy: true });
    rmSync(folder, { recursive: true, force: true });
  });
  mkdirSync(disk);
  await linuxMounts.mount({ source: 'tmpfs', target: disk, type: 'tmpfs', data: 'size=1m' });
  mkdirSync(join(disk, 'kubelet'));
  symlinkSync(join(disk, 'kubelet'), rootDir);

  const host = createLinuxHost(process.env);
  const objects = new ManifestObjects({ onChange: () => undefined });
  const set = (text: string): void => {
    const metadata = { name: 'settings', namespace: 'default' };
    objects.set('file', {
      configMaps: [{ metadata, data: { text } }],
      secrets: [],
      runtimeClasses: [],
      claims: [],
      volumes: [],
    });
  };
  const events = new PodEvents(host.clock);
  return { volumes: new PodVolumes(volumeDeps(host, { rootDir, objects, events })), disk, rootDir, set };
}

const pod = podOf('web', {
  volumes: [
    { name: 'conf', configMap: { name: 'settings' } },
    { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    { name: 'me', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
  ],
  containers: [
    { name: 'main', volumeMounts: ['conf', 'memory', 'me'].map((name) => ({ name, mountPath: `/${name}` })) },
  ],
});

test('a root behind a symlink: mounts are recognized, and unmounted at the end', { skip }, async (t) => {
  const { volumes, disk, rootDir, set } = await machine(t);
  set('hello');
  await volumes.prepare(pod, signal);
  await volumes.prepare(pod, signal);
  const mounted = async () => (await linuxMounts.list()).filter(({ target }) => target.startsWith(`${disk}/`));
  assert.equal((await mounted()).length, 2);
  const { path = '' } = volumes.volumes('uid-web').get('me') ?? {};
  assert.ok(path.startsWith(`${rootDir}/pods/`));
  assert.equal(readFileSync(`${path}/name`, 'utf8'), 'web');
  await volumes.release(pod, signal);
  assert.deepEqual(await mounted(), []);
});

test('a full disk keeps the old content, and the new content follows when there is space', { skip }, async (t) => {
  const { volumes, disk, set } = await machine(t);
  set('old');
  await volumes.prepare(pod, signal);
  const { path = '' } = volumes.volumes('uid-web').get('conf') ?? {};
  writeFileSync(join(disk, 'filler'), Buffer.alloc(700_000));
  const large = 'n'.repeat(600_000);
  set(large);
  await assert.rejects(volumes.refresh(pod, signal), { reason: 'FailedMount', message: /ENOSPC/ });
  assert.equal(readFileSync(`${path}/text`, 'utf8'), 'old');
  rmSync(join(disk, 'filler'));
  await volumes.refresh(pod, signal);
  assert.equal(readFileSync(`${path}/text`, 'utf8'), large);
});
