/** ConfigMaps, Secrets and runtime classes in manifests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { mergeSnapshot, NO_PODS } from './desired-pods.ts';
import { createFileSource } from './file-source.ts';
import { MAX_MANIFEST_BYTES, parseStaticPods, type StaticReferences } from './parse-static-pods.ts';
import type { SourceSnapshot } from './pod-source.ts';

const POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: main, image: busybox}]\n';
const CONFIG_MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: red}\n';
const SECRET =
  'apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\ndata: {a: b25l, b: dHdv}\nstringData: {b: three}\n';
const CLASS = 'apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata-qemu\n';

function parse(text: string, references: StaticReferences = 'manifests'): SourceSnapshot {
  return parseStaticPods(text, { source: 'file', location: 'web.yaml', nodeName: 'box', nowMs: 0, references });
}

test('parseStaticPods() decodes objects, and defaults namespace and type', () => {
  const { pods, objects, errors } = parse([POD, CONFIG_MAP, SECRET, CLASS].join('---\n'));
  assert.deepEqual(errors, []);
  assert.equal(pods.length, 1);
  assert.deepEqual(objects, {
    configMaps: [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'settings', namespace: 'default' },
        data: { color: 'red' },
      },
    ],
    secrets: [
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'login', namespace: 'shop' },
        data: { a: 'b25l', b: 'dGhyZWU=' },
        type: 'Opaque',
      },
    ],
    runtimeClasses: [
      { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'kata' }, handler: 'kata-qemu' },
    ],
    claims: [],
    volumes: [],
  });
});

const CLAIM = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`;
const VOLUME = `apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 2Gi}
  hostPath: {path: /srv/disk}
`;

test('parseStaticPods() decodes claims and persistent volumes with the defaults of the API server', () => {
  const { objects, errors } = parse([CLAIM, VOLUME].join('---\n'));
  assert.deepEqual(errors, []);
  assert.deepEqual(objects?.claims, [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', namespace: 'default' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        volumeMode: 'Filesystem',
      },
      status: { phase: 'Pending' },
    },
  ]);
  assert.deepEqual(objects?.volumes, [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'disk' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '2Gi' },
        hostPath: { path: '/srv/disk', type: '' },
        persistentVolumeReclaimPolicy: 'Retain',
        volumeMode: 'Filesystem',
      },
      status: { phase: 'Pending' },
    },
  ]);
});

const REFERS = `${POD}  volumes: [{name: v, configMap: {name: settings}}]\n`;

const rejected: Record<string, { text: string; references: StaticReferences; errors: string[] }> = {
  'an invalid key, with its position': {
    text: `${POD}---\n${CONFIG_MAP.replace('color: red', '"a b": x')}`,
    references: 'manifests',
    errors: [
      "web.yaml:10:15: data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
  },
  'a claim without a size, with its position': {
    text: `${POD}---\n${CLAIM.replace('{storage: 1Gi}', '{}')}`,
    references: 'manifests',
    errors: ['web.yaml:12:3: spec.resources[storage]: Required value'],
  },
  'a persistent volume without a source, with its position': {
    text: `${POD}---\n${VOLUME.replace(/ {2}hostPath.*\n/, '')}`,
    references: 'manifests',
    errors: ['web.yaml:10:1: spec: Required value: must specify a volume type'],
  },
  'a StorageClass': {
    text: `${POD}---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: x}`,
    references: 'manifests',
    errors: [
      'web.yaml:7:39: kind "StorageClass" in version "storage.k8s.io/v1" is not supported: a manifest may hold Pod, ConfigMap, Secret, RuntimeClass (node.k8s.io/v1), PersistentVolumeClaim, PersistentVolume and lists of them',
    ],
  },
  'an invalid login, with its position and without its content': {
    text: '{apiVersion: v1, kind: Secret, metadata: {name: l}, type: kubernetes.io/dockercfg, stringData: {.dockercfg: "{auth"}}',
    references: 'manifests',
    errors: ['web.yaml:1:109: data[.dockercfg]: Invalid value: "<secret contents redacted>": is not JSON'],
  },
  'invalid base64': {
    text: `${POD}---\n${SECRET.replace('b25l', '"not base64!"')}`,
    references: 'manifests',
    errors: ['web.yaml:10:11: data[a]: expected base64 data'],
  },
  'a reference without references allowed': {
    text: REFERS,
    references: 'none',
    errors: ['web.yaml:1:1: static pods may not reference configmaps'],
  },
  'resource claims with API references allowed': {
    text: `${POD}  resourceClaims: [{name: c, resourceClaimName: x}]\n`,
    references: 'api',
    errors: ['web.yaml:1:1: static pods may not use ResourceClaims'],
  },
  'trust bundles with API references allowed': {
    text: `${POD}  volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {name: b, path: p}}]}}]\n`,
    references: 'api',
    errors: ['web.yaml:1:1: static pods may not use ClusterTrustBundle projected volume sources'],
  },
  'objects without references allowed': {
    text: `${CONFIG_MAP}---\n${CLASS}`,
    references: 'none',
    errors: [
      'web.yaml:1:1: ConfigMap settings is ignored: static pods may not reference it',
      'web.yaml:6:1: RuntimeClass kata is ignored: static pods may not reference it',
    ],
  },
};

for (const [what, { text, references, errors }] of Object.entries(rejected)) {
  test(`parseStaticPods() reports ${what}`, () => {
    const snapshot = parse(text, references);
    assert.deepEqual(
      snapshot.errors.map(({ message }) => message),
      errors,
    );
    assert.deepEqual(snapshot.objects?.configMaps.length, references === 'manifests' ? 0 : undefined);
  });
}

test('parseStaticPods() accepts references with API references allowed', () => {
  const { pods, errors, objects } = parse(REFERS, 'api');
  assert.deepEqual([pods.length, errors, objects], [1, [], undefined]);
});

test('mergeSnapshot() keeps the first of two objects with one name, and reports the other', () => {
  const other = CONFIG_MAP.replace('red', 'blue');
  const elsewhere = other.replace('name: settings', 'name: settings, namespace: shop');
  const snapshot = parse([CONFIG_MAP, other, elsewhere, SECRET, SECRET, CLASS, CLASS].join('---\n'));
  const { objects, errors } = mergeSnapshot(NO_PODS, 'file', snapshot);
  assert.deepEqual(
    objects?.configMaps.map(({ data }) => data),
    [{ color: 'red' }, { color: 'blue' }],
  );
  assert.deepEqual([objects?.secrets.length, objects?.runtimeClasses.length], [1, 1]);
  assert.deepEqual(
    errors.map(({ location, message }) => `${location}: ${message}`),
    ['ConfigMap default/settings', 'Secret shop/login', 'RuntimeClass kata'].map(
      (name) => `${name}: another one of this name comes first in the same source`,
    ),
  );
});

/** A file source and its last snapshot. */
async function followFolder(files: Readonly<Record<string, string>>) {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/m');
  for (const [name, text] of Object.entries(files)) await host.fs.writeFile(`/m/${name}`, text);
  const life = new AbortController();
  const source = createFileSource({ paths: ['/m'], nodeName: 'box', rescanMs: 20_000, references: 'manifests' }, host);
  const snapshots: SourceSnapshot[] = [];
  const done = (async () => {
    for await (const snapshot of source.snapshots(life.signal)) snapshots.push(snapshot);
  })();
  return {
    host,
    async snapshot() {
      await host.clock.advance(0);
      return snapshots.at(-1);
    },
    async stop() {
      life.abort();
      await host.clock.runUntil(done);
    },
  };
}

test('a file source keeps a pod that its runtime class no longer allows', async () => {
  const pod = `${POD}  runtimeClassName: kata\n  nodeSelector: {disk: ssd}\n`;
  const { host, snapshot, stop } = await followFolder({ 'pod.yaml': pod, 'class.yaml': CLASS });
  const before = await snapshot();
  await host.fs.writeFile('/m/class.yaml', `${CLASS}scheduling: {nodeSelector: {disk: tape}}\n`);
  const after = await snapshot();
  assert.deepEqual(after?.pods, before?.pods);
  assert.match(after?.errors[0]?.message ?? '', /^pod rejected: conflict: /);
  await host.fs.remove('/m/pod.yaml');
  assert.deepEqual((await snapshot())?.pods, []);
  await stop();
});

test('a file source yields objects, and keeps the previous ones of an invalid file', async () => {
  const { host, snapshot, stop } = await followFolder({ 'a.yaml': `${POD}---\n${CONFIG_MAP}`, 'b.yaml': SECRET });
  const last = async () => {
    const { objects } = (await snapshot()) ?? {};
    return {
      colors: objects?.configMaps.map(({ data }) => data?.['color']),
      secrets: objects?.secrets.map(({ metadata }) => metadata.name),
    };
  };
  assert.deepEqual(await last(), { colors: ['red'], secrets: ['login'] });
  await host.fs.writeFile('/m/a.yaml', `${POD}---\n${CONFIG_MAP.replace('red', 'blue')}`);
  assert.deepEqual(await last(), { colors: ['blue'], secrets: ['login'] });
  await host.fs.writeFile('/m/a.yaml', `${POD}---\n${CONFIG_MAP.replace('color: red', '"a b": x')}`);
  assert.deepEqual(await last(), { colors: ['blue'], secrets: ['login'] });
  await host.fs.writeFile('/m/a.yaml', ' '.repeat(MAX_MANIFEST_BYTES + 1));
  assert.deepEqual(await last(), { colors: ['blue'], secrets: ['login'] });
  await host.fs.writeFile('/m/a.yaml', POD);
  await host.fs.remove('/m/b.yaml');
  assert.deepEqual(await last(), { colors: [], secrets: [] });
  await stop();
});
