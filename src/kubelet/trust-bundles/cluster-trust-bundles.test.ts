import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterTrustBundleProjection } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { pemBlocks, pemText } from '../../base/pem.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { ClusterTrustBundles } from './cluster-trust-bundles.ts';

const FOREVER = new AbortController().signal;
const LONGEST_PAUSE_MS = 60_000;
const SIGNER = 'corp.example/ca';

function pem(...values: readonly number[]): string {
  return values.map((value) => pemText({ label: 'CERTIFICATE', der: Uint8Array.of(value) })).join('');
}

function setUp() {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const api = createMemoryApiServer({ clock, random });
  const calls: string[] = [];
  api.faults.everyCall((verb) => void calls.push(verb));
  const woken: string[] = [];
  const life = new AbortController();
  const deps = { api, clock, random, log: silentLog, onChange: (uid: string) => woken.push(uid) };
  const bundles = new ClusterTrustBundles(deps, life.signal);
  const key = (name: string) => ({ resource: 'clustertrustbundles', namespace: '', name }) as const;
  return {
    api,
    clock,
    calls,
    woken,
    bundles,
    create: (name: string, trustBundle: string, spec: object = {}, labels: Readonly<Record<string, string>> = {}) =>
      api.direct.create(key(name), { metadata: { name, labels }, spec: { trustBundle, ...spec } }, FOREVER),
    set: (name: string, trustBundle: string) => api.direct.patch(key(name), { spec: { trustBundle } }, {}, FOREVER),
    remove: (name: string) => api.direct.delete(key(name), {}, FOREVER),
    /** The values of the anchors, or the error message. */
    async anchors(uid: string, source: Partial<ClusterTrustBundleProjection>) {
      const asked = bundles.trustAnchors(uid, { path: 'ca.pem', ...source }, FOREVER).then(
        (text) =>
          pemBlocks(text)
            .map(({ der }) => der[0])
            .toSorted(),
        (error: Error) => error.message,
      );
      return clock.runUntil(asked);
    },
    async [Symbol.asyncDispose]() {
      life.abort();
      await clock.advance(0);
      assert.equal(api.watches, 0);
    },
  };
}

test('the anchors of a bundle and of a signer; nothing is watched before the first reader', async () => {
  await using it = setUp();
  await it.clock.advance(LONGEST_PAUSE_MS);
  assert.deepEqual(it.calls, []);
  await it.create('plain', pem(1, 2));
  await it.create('corp:one', pem(3, 1), { signerName: SIGNER }, { env: 'test' });
  await it.create('corp:two', pem(3, 4), { signerName: SIGNER });
  assert.deepEqual(await it.anchors('u1', { name: 'plain' }), [1, 2]);
  assert.deepEqual(await it.anchors('u2', { signerName: SIGNER, labelSelector: {} }), [1, 3, 4]);
  const labelled = { signerName: SIGNER, labelSelector: { matchLabels: { env: 'test' } } };
  assert.deepEqual(await it.anchors('u2', labelled), [1, 3]);
  assert.deepEqual(it.calls, ['list', 'watch']);
});

test('a missing bundle is an error, and empty if it is optional; the pod is woken when it appears', async () => {
  await using it = setUp();
  const notFound = 'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "late" not found';
  assert.equal(await it.anchors('u1', { name: 'late' }), notFound);
  assert.deepEqual(await it.anchors('u2', { name: 'late', optional: true }), []);
  const none = 'combination of signerName and labelSelector matched zero ClusterTrustBundles';
  assert.equal(await it.anchors('u3', { signerName: SIGNER, labelSelector: {} }), none);
  await it.create('late', pem(7));
  await it.clock.advance(0);
  assert.deepEqual(it.woken, ['u1', 'u2']);
  assert.deepEqual(await it.anchors('u1', { name: 'late' }), [7]);
});

test('a change wakes exactly the pods that use the bundle', async () => {
  await using it = setUp();
  await it.create('one', pem(1));
  await it.create('two', pem(2), { signerName: SIGNER });
  await it.anchors('uses-one', { name: 'one' });
  await it.anchors('uses-two', { signerName: SIGNER, labelSelector: {} });
  await it.anchors('uses-both', { name: 'one' });
  await it.anchors('uses-both', { name: 'two' });
  await it.anchors('gone', { name: 'one' });
  it.bundles.forget('gone');
  await it.set('one', pem(5));
  await it.clock.advance(0);
  assert.deepEqual(it.woken.splice(0), ['uses-one', 'uses-both']);
  assert.deepEqual(await it.anchors('uses-one', { name: 'one' }), [5]);
  await it.remove('two');
  await it.clock.advance(0);
  assert.deepEqual(it.woken.splice(0), ['uses-two', 'uses-both']);
});

test('a reader waits ten seconds for the first list, the next one does not, and both are woken by it', async () => {
  await using it = setUp();
  await it.create('one', pem(1));
  it.api.faults.setOutage(true);
  const notSynced = 'ClusterTrustBundle informer has not yet synced';
  const startMs = it.clock.now();
  assert.equal(await it.anchors('u1', { name: 'one' }), notSynced);
  assert.equal(it.clock.now() - startMs, 10_000);
  assert.equal(await it.anchors('u2', { name: 'one' }), notSynced);
  assert.equal(it.clock.now() - startMs, 10_000);
  it.api.faults.setOutage(false);
  await it.clock.advance(LONGEST_PAUSE_MS);
  assert.deepEqual(it.woken, ['u1', 'u2']);
  assert.deepEqual(await it.anchors('u1', { name: 'one' }), [1]);
});

test('an API server without the resource is reported at once, and used as soon as it has it', async () => {
  await using it = setUp();
  await it.create('one', pem(1));
  let isServed = false;
  const error = new ApiError('NotFound', 'the server could not find the requested resource');
  it.api.faults.everyCall((verb) => (isServed || verb !== 'list' ? undefined : { kind: 'before', error }));
  const startMs = it.clock.now();
  const unavailable = 'ClusterTrustBundle projection is not supported in static kubelet mode';
  assert.equal(await it.anchors('u1', { name: 'one' }), unavailable);
  assert.equal(it.clock.now(), startMs);
  isServed = true;
  await it.clock.advance(LONGEST_PAUSE_MS);
  assert.deepEqual(it.woken, ['u1']);
  assert.deepEqual(await it.anchors('u1', { name: 'one' }), [1]);
});
