import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from './generated/core-v1.ts';
import { configSource, formatPod, isMirrorPod, isStaticPod, podFullName } from './pod-names.ts';
import { type StaticPodOrigin, toStaticPod } from './static-pod.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: '', uid: '' },
  spec: { containers: [{ name: 'web', image: 'busybox' }] },
};

const origin: StaticPodOrigin = {
  source: 'file',
  location: '/etc/nodelet/web.yaml',
  nodeName: 'Node-1',
  seen: '2026-11-15T09:02:09.5Z',
};

const uidOf = (given: Pod, from: Partial<StaticPodOrigin> = {}): string =>
  toStaticPod(given, { ...origin, ...from }).metadata.uid;

test('toStaticPod() makes a pod of this node', () => {
  const uid = uidOf(pod);
  assert.match(uid, /^[0-9a-f]{32}$/);
  assert.deepEqual(toStaticPod(pod, origin), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web-node-1',
      namespace: 'default',
      uid,
      annotations: {
        'kubernetes.io/config.hash': uid,
        'kubernetes.io/config.seen': '2026-11-15T09:02:09.5Z',
        'kubernetes.io/config.source': 'file',
      },
    },
    spec: {
      containers: [{ name: 'web', image: 'busybox' }],
      nodeName: 'Node-1',
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
    },
    status: { phase: 'Pending' },
  });
});

test('toStaticPod() gives no toleration to a pod from a URL', () => {
  const { spec, metadata } = toStaticPod(pod, { ...origin, source: 'http', location: 'http://127.0.0.1/web' });
  assert.deepEqual([spec.tolerations, metadata.annotations?.['kubernetes.io/config.source']], [undefined, 'http']);
});

test('toStaticPod() keeps what the manifest says', () => {
  const metadata = { name: 'web', namespace: 'prod', uid: 'my-uid', annotations: { a: 'b' } };
  const given = toStaticPod({ ...pod, metadata }, origin).metadata;
  assert.deepEqual(
    [given.namespace, given.uid, given.annotations?.['a'], given.annotations?.['kubernetes.io/config.hash']],
    ['prod', 'my-uid', 'b', 'my-uid'],
  );
});

test('toStaticPod() leaves a missing name to validation', () => {
  assert.equal(toStaticPod({ ...pod, metadata: { ...pod.metadata, name: '' } }, origin).metadata.name, '');
});

test('toStaticPod() replaces a toleration of the same taints', () => {
  const tolerations = [
    { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 },
    { key: 'a', value: 'b' },
  ];
  assert.deepEqual(toStaticPod({ ...pod, spec: { ...pod.spec, tolerations } }, origin).spec.tolerations, [
    { operator: 'Exists', effect: 'NoExecute' },
    { key: 'a', value: 'b' },
  ]);
});

test('the UID follows the content and the place, not the order of the keys', () => {
  const { metadata, spec, kind, apiVersion } = pod;
  const otherImage = { ...pod, spec: { containers: [{ name: 'web', image: 'nginx' }] } };
  assert.equal(uidOf({ spec, metadata, kind, apiVersion }), uidOf(pod));
  const uids = [
    uidOf(pod),
    uidOf(otherImage),
    uidOf(pod, { location: '/etc/nodelet/other.yaml' }),
    uidOf(pod, { nodeName: 'node-2' }),
    uidOf(pod, { source: 'http', location: 'http://127.0.0.1/' }),
  ];
  assert.equal(new Set(uids).size, uids.length);
  assert.equal(uidOf(pod, { seen: '2027-01-01T00:00:00Z' }), uidOf(pod));
});

test('pods have names for logs and a source', () => {
  const running = toStaticPod({ ...pod, metadata: { ...pod.metadata, uid: 'u1' } }, origin);
  assert.deepEqual(
    [podFullName(running), formatPod(running), configSource(running), isStaticPod(running), isMirrorPod(running)],
    ['web-node-1_default', 'web-node-1_default(u1)', 'file', true, false],
  );
  const annotations = { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'h' };
  const mirror = { ...pod, metadata: { ...pod.metadata, annotations } };
  assert.deepEqual([isStaticPod(pod), isStaticPod(mirror), isMirrorPod(mirror)], [false, false, true]);
});
