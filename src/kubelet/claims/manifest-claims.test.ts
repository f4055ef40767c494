import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  Pod,
  PodSpec,
  Volume,
} from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { PodEvents } from '../events/pod-events.ts';
import { ManifestObjects } from '../objects/manifest-objects.ts';
import { NO_OBJECTS } from '../sources/source-objects.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { PodDirectories } from '../volumes/pod-directories.ts';
import { PodVolumes } from '../volumes/pod-volumes.ts';
import { volumeDeps } from '../volumes/volumes.fixture.ts';
import { ClaimStore } from './claim-store.ts';
import { ManifestClaims } from './manifest-claims.ts';

const signal = new AbortController().signal;
const ROOT = '/r/kubelet';
const MOUNTED: Volume = { name: 'v', persistentVolumeClaim: { claimName: 'data' } };
const SCRATCH: Volume = {
  name: 'scratch',
  ephemeral: {
    volumeClaimTemplate: {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  },
};

function claim(spec: PersistentVolumeClaimSpec = {}): PersistentVolumeClaim {
  const usual = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  return { metadata: { name: 'data', namespace: 'default' }, spec: { ...usual, volumeMode: 'Filesystem', ...spec } };
}

/** A pod whose containers mount all volumes. */
function podWith(uid: string, volumes: readonly Volume[], spec: Partial<PodSpec> = {}): Pod {
  const metadata = { uid, name: `web-${uid}`, namespace: 'default' };
  const pod = examplePod({ metadata, spec: { volumes, ...spec } });
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const containers = pod.spec.containers.map((container) => ({ ...container, volumeMounts }));
  return { ...pod, spec: { ...pod.spec, containers } };
}

/** The agent's part of volumes; a second one on the same host is one after a restart. */
function agent(host: MemoryHost, claims: readonly PersistentVolumeClaim[], volumes: readonly PersistentVolume[] = []) {
  const { fs, lockFiles, clock, random } = host;
  const woken: string[] = [];
  const warnings: string[] = [];
  const store = new ClaimStore({ fs, lockFiles, random, folder: '/r/volumes', rootDir: ROOT });
  const log = { info() {}, error() {}, debug() {}, warn: (message: string) => void warnings.push(message) };
  const manifestClaims = new ManifestClaims({ store, fs, clock, random, log, onChange: (uid) => woken.push(uid) });
  manifestClaims.set('file', { ...NO_OBJECTS, claims, volumes });
  const objects = new ManifestObjects({ onChange: () => undefined });
  const own = { rootDir: ROOT, objects, events: new PodEvents(clock) };
  const podVolumes = new PodVolumes({ ...volumeDeps(host, own), claims: manifestClaims });
  const directories = new PodDirectories({ fs, settings: { rootDir: ROOT, podLogsDir: '/r/logs' } });
  const steps = [directories, manifestClaims, podVolumes];
  return {
    store,
    claims: manifestClaims,
    woken,
    warnings,
    /** The directories that the pod's containers get, by volume name, or the error. */
    async start(pod: Pod): Promise<Readonly<Record<string, string>> | string> {
      try {
        for (const step of steps) await step.prepare(pod, signal);
      } catch (error) {
        return errorText(error);
      }
      const mounted = [...podVolumes.volumes(pod.metadata.uid)];
      const entries = await host.mounts.list();
      const shown = (path: string): string => entries.findLast(({ target }) => target === path)?.root ?? path;
      return Object.fromEntries(mounted.map(([name, { path = '' }]) => [name, shown(path)]));
    },
    async end(pod: Pod): Promise<void> {
      for (const step of steps.toReversed()) await step.release(pod, signal);
    },
    async remove(pod: Pod): Promise<void> {
      for (const step of steps.toReversed()) if ('purge' in step) await step.purge(pod, signal);
    },
  };
}

test('ManifestClaims gives a claim a directory that outlives its pod and the agent', async () => {
  const host = createMemoryHost();
  const first = agent(host, [claim()]);
  const pod = podWith('u1', [MOUNTED]);
  assert.deepEqual(await first.start(pod), { v: '/r/volumes/default/data' });
  assert.equal((await host.fs.stat('/r/volumes/default/data'))?.mode, 0o777);
  assert.equal((await host.fs.stat('/r/volumes'))?.mode, 0o700);
  await host.fs.writeFile('/r/volumes/default/data/file', 'kept');
  await first.end(pod);
  await first.remove(pod);
  const second = agent(host, [claim()]);
  assert.deepEqual(await second.start(podWith('u2', [MOUNTED])), { v: '/r/volumes/default/data' });
  assert.equal(await host.fs.readText('/r/volumes/default/data/file'), 'kept');
  const [record] = await second.store.list();
  assert.deepEqual(record?.usedBy, [{ uid: 'u2', namespace: 'default', name: 'web-u2' }]);
});

test('ManifestClaims keeps the data of a claim that left the manifests', async () => {
  const host = createMemoryHost();
  const { claims, store, start, end } = agent(host, [claim()]);
  const pod = podWith('u1', [MOUNTED]);
  await start(pod);
  await host.fs.writeFile('/r/volumes/default/data/file', 'kept');
  await end(pod);
  claims.set('file', NO_OBJECTS);
  assert.equal(
    await start(podWith('u2', [MOUNTED])),
    'Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: error processing PVC default/data: persistentvolumeclaim "data" not found',
  );
  assert.equal((await store.list()).length, 1);
  assert.equal(await host.fs.readText('/r/volumes/default/data/file'), 'kept');
});

test('ManifestClaims names the StorageClass that the node does not have, and wakes the pod when the claim changes', async () => {
  const { claims, woken, start } = agent(createMemoryHost(), [claim({ storageClassName: 'fast' })]);
  const error = await start(podWith('u1', [MOUNTED]));
  assert.match(
    String(error),
    /PersistentVolumeClaim "data" asks for StorageClass "fast", and a node without a cluster/,
  );
  assert.deepEqual(woken, []);
  claims.set('file', { ...NO_OBJECTS, claims: [claim()] });
  assert.deepEqual(woken, ['u1']);
  assert.deepEqual(await start(podWith('u1', [MOUNTED])), { v: '/r/volumes/default/data' });
  claims.set('file', { ...NO_OBJECTS, claims: [claim()] });
  assert.deepEqual(woken, ['u1']);
});

test('ManifestClaims mounts a PersistentVolume of the manifests, and no other claim gets it', async () => {
  const host = createMemoryHost();
  const disk: PersistentVolume = {
    metadata: { name: 'disk' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '2Gi' },
      hostPath: { path: '/srv/disk', type: 'DirectoryOrCreate' },
    },
  };
  const other = { ...claim(), metadata: { name: 'other', namespace: 'default' } };
  const { start, store } = agent(host, [claim(), other], [disk]);
  assert.deepEqual(await start(podWith('u1', [MOUNTED])), { v: '/srv/disk' });
  const others = { name: 'v', persistentVolumeClaim: { claimName: 'other' } };
  assert.deepEqual(await start(podWith('u2', [others])), { v: '/r/volumes/default/other' });
  const records = await store.list();
  assert.deepEqual(
    records.map(({ name, volume, path }) => ({ name, volume, path })),
    [
      { name: 'data', volume: { kind: 'manifest', name: 'disk' }, path: '/srv/disk' },
      { name: 'other', volume: { kind: 'provisioned' }, path: '/r/volumes/default/other' },
    ],
  );
});

test('ManifestClaims gives a ReadWriteOncePod volume to one pod at a time, also after a restart', async () => {
  const host = createMemoryHost();
  const claims = [claim({ accessModes: ['ReadWriteOncePod'] })];
  const [one, two] = [podWith('u1', [MOUNTED]), podWith('u2', [MOUNTED])];
  await agent(host, claims).start(one);
  const restarted = agent(host, claims);
  const { start, end, woken } = restarted;
  const error =
    /volume uses the ReadWriteOncePod access mode and is already in use by another pod \(default\/web-u1\)$/;
  assert.match(String(await start(two)), error);
  assert.deepEqual(await start(one), { v: '/r/volumes/default/data' });
  await end(one);
  assert.deepEqual(woken, ['u2']);
  assert.deepEqual(await start(two), { v: '/r/volumes/default/data' });
});

test('ManifestClaims creates an ephemeral volume for its pod, and removes it with the pod', async () => {
  const host = createMemoryHost();
  const pod = podWith('u1', [SCRATCH]);
  const path = '/r/volumes/default/web-u1-scratch';
  const first = agent(host, []);
  assert.deepEqual(await first.start(pod), { scratch: path });
  await host.fs.writeFile(`${path}/file`, 'x');
  // A pod that has ended still has its volume.
  await first.end(pod);
  assert.ok(await host.fs.stat(`${path}/file`));
  // The agent was killed: the next one knows only the UID of the pod.
  const second = agent(host, []);
  const orphan = examplePod({ metadata: { uid: 'u1', name: '', namespace: '' } });
  await second.end(orphan);
  await second.remove(orphan);
  assert.equal(await host.fs.stat(path), undefined);
  assert.deepEqual(await second.store.list(), []);
  assert.deepEqual(await host.fs.readDirectory('/r/volumes/.removed'), []);
});

test('ManifestClaims does not give the ephemeral volume of a pod to others', async () => {
  const host = createMemoryHost();
  const { start } = agent(host, [{ ...claim(), metadata: { name: 'web-u1-scratch', namespace: 'default' } }]);
  await start(podWith('u1', [SCRATCH]));
  const byName = { name: 'v', persistentVolumeClaim: { claimName: 'web-u1-scratch' } };
  assert.match(
    String(await start(podWith('u2', [byName]))),
    /PersistentVolumeClaim "web-u1-scratch" is the ephemeral volume of pod default\/web-u1$/,
  );
  const changed = podWith('u1', [SCRATCH]);
  const sameName = { ...changed, metadata: { ...changed.metadata, uid: 'u3' } };
  assert.match(
    String(await start(sameName)),
    /PVC default\/web-u1-scratch was not created for pod default\/web-u1 \(pod is not owner\)$/,
  );
});

test('ManifestClaims gives the files to the fsGroup, but not again on OnRootMismatch', async () => {
  const host = createMemoryHost();
  const { start, end } = agent(host, [claim()]);
  const inGroup = (uid: string, fsGroupChangePolicy?: string): Pod =>
    podWith(uid, [MOUNTED], { securityContext: { fsGroup: 2000, fsGroupChangePolicy } });
  await start(inGroup('u1'));
  const root = await host.fs.stat('/r/volumes/default/data');
  assert.deepEqual([root?.gid, root?.mode], [2000, 0o2777]);
  await end(inGroup('u1'));
  await host.fs.writeFile('/r/volumes/default/data/file', 'x', { mode: 0o600 });
  await host.fs.changeOwner('/r/volumes/default/data/file', 0, 0);
  await start(inGroup('u2', 'OnRootMismatch'));
  assert.equal((await host.fs.stat('/r/volumes/default/data/file'))?.gid, 0);
  await end(inGroup('u2'));
  await start(inGroup('u3'));
  assert.equal((await host.fs.stat('/r/volumes/default/data/file'))?.gid, 2000);
});

test('ManifestClaims warns once about a request that is larger than the disk', async () => {
  const host = createMemoryHost();
  const { start, warnings } = agent(host, [claim({ resources: { requests: { storage: '1Ei' } } })]);
  await start(podWith('u1', [MOUNTED]));
  await start(podWith('u2', [MOUNTED]));
  assert.deepEqual(warnings, ['the disk has less free space than a claim requests']);
});

test('ClaimStore removes a volume that no pod uses, and takes up an interrupted removal', async () => {
  const host = createMemoryHost();
  const { start, end, store } = agent(host, [claim()]);
  const pod = podWith('u1', [MOUNTED]);
  await start(pod);
  const data = { namespace: 'default', name: 'data' };
  await assert.rejects(store.remove(data, signal), {
    message: 'volume "default/data" is in use by pod default/web-u1',
  });
  await end(pod);
  host.fs.errors.failNext('removeTree', 'EIO');
  await assert.rejects(store.remove(data, signal), /EIO/);
  assert.deepEqual(await store.list(), []);
  assert.equal(await host.fs.stat('/r/volumes/default/data'), undefined);
  await start(pod);
  await end(pod);
  await store.remove(data, signal);
  assert.deepEqual(await host.fs.readDirectory('/r/volumes/.removed'), []);
  await assert.rejects(store.remove(data, signal), { message: 'volume "default/data" not found' });
});

test('ClaimStore ignores the use of a pod that no longer exists', async () => {
  const host = createMemoryHost();
  const { start, store } = agent(host, [claim()]);
  await start(podWith('u1', [MOUNTED]));
  for (const { target } of await host.mounts.list()) {
    if (target.startsWith(`${ROOT}/pods/u1/`)) await host.mounts.unmount(target);
  }
  await host.fs.removeTree(`${ROOT}/pods/u1`);
  await store.remove({ namespace: 'default', name: 'data' }, signal);
  assert.deepEqual(await store.list(), []);
});

test('a corrupt record concerns its claim alone, and its file is named', async () => {
  const host = createMemoryHost();
  const { start, end, remove, store } = agent(host, [claim()]);
  const ephemeral = podWith('u3', [SCRATCH]);
  await start(podWith('u1', [MOUNTED]));
  await start(ephemeral);
  await host.fs.writeFile('/r/volumes/.records/default/data.json', '{"version": 2}');
  await assert.rejects(store.list(), {
    message: 'cannot read the record of a volume /r/volumes/.records/default/data.json: version: expected 1',
  });
  assert.match(String(await start(podWith('u2', [MOUNTED]))), /cannot read the record of a volume/);
  await assert.rejects(store.remove({ namespace: 'default', name: 'data' }, signal), /cannot read the record/);
  await end(ephemeral);
  await remove(ephemeral);
  assert.equal(await host.fs.stat('/r/volumes/default/web-u3-scratch'), undefined);
});
