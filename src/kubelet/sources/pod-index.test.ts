import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { type DesiredPods, mergeSnapshot, NO_PODS } from './desired-pods.ts';
import { indexPods } from './pod-index.ts';
import type { SourceName } from './pod-source.ts';

function pod(name: string, uid: string, annotations: Record<string, string>): Pod {
  return { metadata: { name, namespace: 'default', uid, annotations }, spec: { containers: [] } };
}

function staticPod(name: string, hash: string, source: 'file' | 'http' = 'file'): Pod {
  return pod(name, hash, { 'kubernetes.io/config.source': source, 'kubernetes.io/config.hash': hash });
}

function mirrorPod(name: string, uid: string, hash: string): Pod {
  return pod(name, uid, { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': hash });
}

const web = pod('web', 'u1', { 'kubernetes.io/config.source': 'api' });
const etcd = staticPod('etcd', 'h1');
const etcdMirror = mirrorPod('etcd', 'm1', 'h1');
const lostMirror = mirrorPod('lost', 'm2', 'h2');

function desired(bySource: Partial<Record<SourceName, readonly Pod[]>>): DesiredPods {
  let all = NO_PODS;
  for (const source of ['file', 'http', 'api'] as const) {
    const pods = bySource[source];
    if (pods) all = mergeSnapshot(all, source, { pods, errors: [] }).desired;
  }
  return all;
}

const index = indexPods(desired({ file: [etcd], api: [web, etcdMirror, lostMirror] }));

test('pods are indexed by UID and full name, without mirror pods', () => {
  assert.deepEqual(
    [...index.podByUid],
    [
      ['u1', web],
      ['h1', etcd],
    ],
  );
  assert.deepEqual([...index.podByFullName.keys()], ['web_default', 'etcd_default']);
  assert.deepEqual(index.mirrorPods, [etcdMirror, lostMirror]);
});

test('a static pod and its mirror find each other', () => {
  assert.equal(index.mirrorOf(etcd), etcdMirror);
  assert.equal(index.staticOf(etcdMirror), etcd);
  assert.equal(index.mirrorOf(web), undefined);
  assert.equal(index.staticOf(lostMirror), undefined);
});

test('mirrors without a pod are orphans', () => {
  assert.deepEqual(index.orphanedMirrorPods, [lostMirror]);
});

test('apiPodOf() is the pod itself, or the mirror of this version', () => {
  assert.equal(index.apiPodOf(web), web);
  assert.equal(index.apiPodOf(etcd), etcdMirror);
  assert.equal(index.apiPodOf(staticPod('etcd', 'h9')), undefined);
  assert.equal(index.apiPodOf(staticPod('lost', 'h2')), lostMirror);
  assert.equal(index.apiPodOf(pod('web', 'u0', {})), undefined);
});

test('of two pods with one full name the one of the file wins', () => {
  const [fromFile, fromHttp] = [staticPod('etcd', 'h1'), staticPod('etcd', 'h2', 'http')];
  const both = indexPods(desired({ file: [fromFile], http: [fromHttp] }));
  assert.equal(both.podByFullName.get('etcd_default'), fromFile);
  assert.equal(both.podByUid.get('h2'), fromHttp);
});
