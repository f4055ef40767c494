/** Volumes with generated content: what containers see in them, and when it changes. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import test from 'node:test';
import type { ConfigMap, Pod, Secret, Volume } from '../../api/generated/core-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { PodEvents } from '../events/pod-events.ts';
import { ManifestObjects } from '../objects/manifest-objects.ts';
import { ObjectError } from '../objects/pod-objects.ts';
import { NO_OBJECTS } from '../sources/source-objects.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { PodVolumes, type PodVolumesDeps } from './pod-volumes.ts';
import { volumeDeps } from './volumes.fixture.ts';

const signal = new AbortController().signal;
const FOLDER = '/k/pods/u1/volumes';

function configMap(data: Readonly<Record<string, string>>, more: Partial<ConfigMap> = {}): ConfigMap {
  return { metadata: { name: 'settings', namespace: 'default' }, data, ...more };
}

function secret(data: Readonly<Record<string, string>>): Secret {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return { metadata: { name: 'login', namespace: 'default' }, data: Object.fromEntries(encoded) };
}

function machine(given: Partial<PodVolumesDeps> = {}) {
  const host = createMemoryHost();
  const objects = new ManifestObjects({ onChange: () => undefined });
  objects.set('file', NO_OBJECTS);
  const set = (configMaps: readonly ConfigMap[], secrets: readonly Secret[] = []) =>
    objects.set('file', { configMaps, secrets, runtimeClasses: [], claims: [], volumes: [] });
  const events = new PodEvents(host.clock);
  const recorded: string[] = [];
  events.subscribe((_, { type, reason, message }) => recorded.push(`${type} ${reason}: ${message}`));
  const deps = { ...volumeDeps(host, { rootDir: '/k', objects, events }), ...given };
  return { ...host, recorded, set, volumes: new PodVolumes(deps) };
}

function podWith(...volumes: Volume[]): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return examplePod({ spec: { volumes }, container: { volumeMounts } });
}

const settings: Volume = { name: 'conf', configMap: { name: 'settings', defaultMode: 0o644 } };
const SETTINGS = `${FOLDER}/kubernetes.io~configmap/conf`;

test('each type has its directory; secrets are kept in memory', async () => {
  const { fs, mounts, set, volumes } = machine();
  set([configMap({ a: '1' })], [secret({ password: 'hush' })]);
  const me = { fieldRef: { fieldPath: 'metadata.name' }, path: 'name' };
  const sources = [
    { secret: { name: 'login' } },
    { configMap: { name: 'settings' } },
    { downwardAPI: { items: [me] } },
  ];
  const pod = podWith(
    settings,
    { name: 'sec', secret: { secretName: 'login', defaultMode: 0o400 } },
    { name: 'me', downwardAPI: { items: [me] } },
    { name: 'all', projected: { sources } },
  );
  await volumes.prepare(pod, signal);
  const places = [...volumes.volumes('u1')].map(([name, { path, readOnly }]) => [
    name,
    path?.slice(FOLDER.length),
    readOnly,
  ]);
  assert.deepEqual(places, [
    ['conf', '/kubernetes.io~configmap/conf', true],
    ['sec', '/kubernetes.io~secret/sec', true],
    ['me', '/kubernetes.io~downward-api/me', true],
    ['all', '/kubernetes.io~projected/all', true],
  ]);
  const inMemory = (await mounts.list())
    .filter(({ type }) => type === 'tmpfs')
    .map(({ target }) => target.split('/').at(-1));
  assert.deepEqual(
    inMemory.toSorted((a = '', b = '') => (a < b ? -1 : 1)),
    ['all', 'me', 'sec'],
  );
  assert.equal(await fs.readText(`${SETTINGS}/a`), '1');
  assert.equal(await fs.readText(`${FOLDER}/kubernetes.io~secret/sec/password`), 'hush');
  assert.equal((await fs.stat(`${FOLDER}/kubernetes.io~secret/sec/password`))?.mode, 0o400);
  assert.equal(await fs.readText(`${FOLDER}/kubernetes.io~downward-api/me/name`), 'hello');
  const all = (await fs.readDirectory(`${FOLDER}/kubernetes.io~projected/all`)).map(({ name }) => name);
  assert.deepEqual(
    all.filter((name) => !name.startsWith('..')),
    ['a', 'name', 'password'],
  );
  assert.ok(await fs.stat('/k/pods/u1/plugins/kubernetes.io~empty-dir/wrapped_conf/ready'));

  await volumes.release(pod, signal);
  assert.equal((await mounts.list()).length, 1);
  assert.equal(await fs.stat(FOLDER), undefined);
});

test('of two sources with the same path the later one wins', async () => {
  const { fs, set, volumes } = machine();
  set([configMap({ same: 'config' })], [secret({ same: 'secret' })]);
  const sources = [{ configMap: { name: 'settings' } }, { secret: { name: 'login' } }];
  await volumes.prepare(podWith({ name: 'all', projected: { sources } }), signal);
  assert.equal(await fs.readText(`${FOLDER}/kubernetes.io~projected/all/same`), 'secret');
});

test('a source without a type adds nothing', async () => {
  const { fs, set, volumes } = machine();
  set([configMap({ a: '1' })]);
  const sources = [{}, { configMap: { name: 'settings' } }, { secret: undefined }];
  await volumes.prepare(podWith({ name: 'all', projected: { sources } }), signal);
  assert.equal(await fs.readText(`${FOLDER}/kubernetes.io~projected/all/a`), '1');
});

const faults: Record<string, { volume: Volume; fault: string }> = {
  'a missing config map': {
    volume: { name: 'v', configMap: { name: 'absent' } },
    fault: 'configmap "absent" not found',
  },
  'a missing secret': {
    volume: { name: 'v', secret: { secretName: 'absent' } },
    fault: 'secret "absent" not found',
  },
  'a missing key': {
    volume: { name: 'v', configMap: { name: 'settings', items: [{ key: 'x', path: 'x' }] } },
    fault: 'configmap references non-existent config key: x',
  },
  'several errors at once': {
    volume: {
      name: 'v',
      projected: { sources: [{ secret: { name: 'no' } }, { configMap: { name: 'no' } }, { secret: { name: 'no' } }] },
    },
    fault: '[secret "no" not found, configmap "no" not found]',
  },
  'several errors of one source': {
    volume: {
      name: 'v',
      projected: {
        sources: [
          { secret: { name: 'no' } },
          {
            downwardAPI: {
              items: [
                { path: 'a', fieldRef: { fieldPath: 'spec.nodeName' } },
                { path: 'b', resourceFieldRef: { containerName: 'no', resource: 'limits.cpu' } },
              ],
            },
          },
        ],
      },
    },
    fault: '[secret "no" not found, unsupported fieldPath: spec.nodeName, container no not found]',
  },
  'a malicious key': {
    volume: { name: 'v', configMap: { name: 'settings', items: [{ key: 'a', path: '../../../x' }] } },
    fault: "invalid path: must not contain '..': ../../../x",
  },
  'a trust bundle and a certificate without an API server': {
    volume: {
      name: 'v',
      projected: {
        sources: [
          { clusterTrustBundle: { name: 'corp', path: 'ca.crt' } },
          { podCertificate: { signerName: 'a/b', keyType: 'ED25519', keyPath: 'key' } },
        ],
      },
    },
    fault: '[ClusterTrustBundle projection is not supported in static kubelet mode, unimplemented]',
  },
  'a token without an API server, beside another error': {
    volume: {
      name: 'v',
      projected: { sources: [{ serviceAccountToken: { path: 'token' } }, { configMap: { name: 'no' } }] },
    },
    fault: '[cannot use TokenManager when kubelet is in standalone mode, configmap "no" not found]',
  },
};

for (const [what, { volume, fault }] of Object.entries(faults)) {
  test(`${what} is reported with kubelet’s message`, async () => {
    const { set, volumes } = machine();
    set([configMap({ a: '1' })]);
    const message = `MountVolume.SetUp failed for volume "v" : ${fault}`;
    await assert.rejects(volumes.prepare(podWith(volume), signal), { reason: 'FailedMount', message });
  });
}

test('optional objects may be missing, appear and disappear', async () => {
  const { fs, set, volumes } = machine();
  const pod = podWith({ name: 'conf', configMap: { name: 'settings', optional: true } });
  await volumes.prepare(pod, signal);
  assert.equal(await fs.stat(`${SETTINGS}/a`), undefined);
  set([configMap({ a: '1' })]);
  await volumes.refresh(pod, signal);
  assert.equal(await fs.readText(`${SETTINGS}/a`), '1');
  set([]);
  await volumes.refresh(pod, signal);
  assert.equal(await fs.stat(`${SETTINGS}/a`), undefined);
});

test('a change is visible after the next refresh; without a change nothing is read or written', async () => {
  const host = createMemoryHost();
  const calls: string[] = [];
  const counted = new Proxy(host.fs, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]): unknown => {
        calls.push(String(name));
        return method.apply(target, args);
      };
    },
  });
  const { set, volumes } = machine({ ...host, fs: counted });
  set([configMap({ a: '1' })], [secret({ password: 'old' })]);
  const pod = podWith(settings, { name: 'sec', secret: { secretName: 'login' } });
  await volumes.prepare(pod, signal);
  calls.length = 0;
  await volumes.refresh(pod, signal);
  set([configMap({ a: '1' })], [secret({ password: 'old' })]);
  await volumes.refresh(pod, signal);
  assert.deepEqual([...new Set(calls)], ['stat'], 'whether the folders are there, and no more');

  set([configMap({ a: '1' })], [secret({ password: 'new' })]);
  await volumes.refresh(pod, signal);
  assert.equal(await host.fs.readText(`${FOLDER}/kubernetes.io~secret/sec/password`), 'new');
});

test('content of a deleted object stays until the object is back', async () => {
  const { fs, set, volumes } = machine();
  const other: Volume = { name: 'sec', secret: { secretName: 'login' } };
  const pod = podWith(settings, other);
  set([configMap({ a: '1' })], [secret({ password: 'old' })]);
  await volumes.prepare(pod, signal);
  set([], [secret({ password: 'new' })]);
  const message = 'MountVolume.SetUp failed for volume "conf" : configmap "settings" not found';
  await assert.rejects(volumes.refresh(pod, signal), { reason: 'FailedMount', message });
  assert.equal(await fs.readText(`${SETTINGS}/a`), '1');
  assert.equal(await fs.readText(`${FOLDER}/kubernetes.io~secret/sec/password`), 'new');
  set([configMap({ a: '2' })], [secret({ password: 'new' })]);
  await volumes.refresh(pod, signal);
  assert.equal(await fs.readText(`${SETTINGS}/a`), '2');
});

test('a new version of the pod keeps content whose object is no longer available', async () => {
  const { fs, recorded, set, volumes } = machine();
  const sources = [
    { configMap: { name: 'settings' } },
    { downwardAPI: { items: [{ path: 'app', fieldRef: { fieldPath: "metadata.labels['app']" } }] } },
  ];
  const all = `${FOLDER}/kubernetes.io~projected/all`;
  const pod = podWith({ name: 'all', projected: { sources } });
  const labelled: Pod = { ...pod, metadata: { ...pod.metadata, labels: { app: 'new' } } };
  set([configMap({ a: '1' })]);
  await volumes.prepare(pod, signal);
  set([]);
  await volumes.prepare(labelled, signal);
  assert.deepEqual(recorded, [
    'Warning FailedMount: MountVolume.SetUp failed for volume "all" : configmap "settings" not found',
  ]);
  assert.equal(await fs.readText(`${all}/a`), '1');

  set([configMap({ a: '1' })]);
  await volumes.refresh(labelled, signal);
  assert.equal(await fs.readText(`${all}/app`), 'new');
});

test('a new version of the pod waits for a new volume, or for one that is not set up any more', async () => {
  const { fs, set, volumes } = machine();
  const pod = podWith(settings);
  set([configMap({ a: '1' })]);
  await volumes.prepare(pod, signal);
  const more = podWith(settings, { name: 'sec', secret: { secretName: 'login' } });
  const message = 'MountVolume.SetUp failed for volume "sec" : secret "login" not found';
  await assert.rejects(volumes.prepare(more, signal), { reason: 'FailedMount', message });

  set([]);
  await fs.removeTree(SETTINGS);
  await assert.rejects(volumes.prepare(pod, signal), { reason: 'FailedMount' });
});

test('an immutable object is not requested again', async () => {
  let asked = 0;
  const objects = {
    async configMap() {
      asked++;
      return configMap({ a: '1' }, { immutable: true });
    },
    async secret(): Promise<Secret> {
      throw new ObjectError('none', { isMissing: true });
    },
    follow() {},
    forget() {},
  };
  const { volumes } = machine({ objects });
  const pod = podWith(settings);
  await volumes.prepare(pod, signal);
  await volumes.refresh(pod, signal);
  await volumes.refresh(pod, signal);
  assert.equal(asked, 1);
});

test('a full disk leaves the old content, and the next refresh succeeds when there is space', async () => {
  const { fs, set, volumes } = machine();
  const pod = podWith(settings);
  set([configMap({ a: '1' })]);
  await volumes.prepare(pod, signal);
  set([configMap({ a: '2' })]);
  fs.isFull = true;
  await assert.rejects(volumes.refresh(pod, signal), { reason: 'FailedMount', message: /ENOSPC/ });
  assert.equal(await fs.readText(`${SETTINGS}/a`), '1');
  fs.isFull = false;
  await volumes.refresh(pod, signal);
  assert.equal(await fs.readText(`${SETTINGS}/a`), '2');
});

test('a removed directory is created again', async () => {
  const { fs, mounts, set, volumes } = machine();
  set([configMap({ a: '1' })], [secret({ password: 'hush' })]);
  const pod = podWith(settings, { name: 'disk', emptyDir: {} }, { name: 'sec', secret: { secretName: 'login' } });
  await volumes.prepare(pod, signal);
  await fs.removeTree(SETTINGS);
  await fs.removeTree(`${FOLDER}/kubernetes.io~empty-dir/disk`);
  await mounts.unmount(`${FOLDER}/kubernetes.io~secret/sec`);
  await volumes.refresh(pod, signal);
  assert.equal(await fs.readText(`${SETTINGS}/a`), '1');
  assert.ok(await fs.stat(`${FOLDER}/kubernetes.io~empty-dir/disk`));
  assert.equal(await fs.readText(`${FOLDER}/kubernetes.io~secret/sec/password`), 'hush');
});

test('the pod’s group may read, and mount points of nested volumes are created', async () => {
  const { fs, set, volumes } = machine();
  set([configMap({ a: '1' })]);
  const mounts = [
    { name: 'conf', mountPath: '/etc/app' },
    { name: 'disk', mountPath: '/etc/app/cache' },
  ];
  const pod = examplePod({
    spec: {
      volumes: [{ ...settings, configMap: { name: 'settings', defaultMode: 0o400 } }],
      securityContext: { fsGroup: 2000 },
    },
    container: { volumeMounts: mounts },
  });
  await volumes.prepare(pod, signal);
  const file = await fs.stat(`${SETTINGS}/a`);
  assert.deepEqual([file?.gid, file?.mode], [2000, 0o440]);
  assert.equal((await fs.lstat(`${SETTINGS}/cache`))?.kind, 'directory');
});
