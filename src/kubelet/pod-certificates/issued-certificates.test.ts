import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodCertificateRequest, PodCertificateRequestStatus } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { pemText } from '../../base/pem.ts';
import { formatTime } from '../../base/rfc3339.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { readSigningKey, type SigningKey } from '../../host/signing-keys.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { readCertificateRequest } from '../certificates/certificate-request.ts';
import { PodEvents } from '../events/pod-events.ts';
import { IssuedCertificates } from './issued-certificates.ts';
import type { PodCredentials } from './pod-certificates.ts';

const FOREVER = new AbortController().signal;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SIGNER = 'corp.example/pods';
const NOT_YET = 'credential bundle is not issued yet';

const POD: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { serviceAccountName: 'builder', containers: [] },
};
const SOURCE = {
  volume: 'certs',
  index: 0,
  projection: {
    signerName: SIGNER,
    keyType: 'ED25519',
    maxExpirationSeconds: 7200,
    userAnnotations: { 'corp.example/role': 'web' },
  },
} as const;

function chain(value: number): string {
  return pemText({ label: 'CERTIFICATE', der: Uint8Array.of(value) });
}

async function setUp({ nodeUid }: { readonly nodeUid: string | undefined } = { nodeUid: 'node-uid' }) {
  const { clock, random, signingKeys: keys } = createMemoryHost();
  const api = createMemoryApiServer({ clock, random });
  const account = { resource: 'serviceaccounts', namespace: 'default', name: 'builder' } as const;
  const accountObject = await api.direct.create(account, { metadata: { name: 'builder' } }, FOREVER);
  const woken: string[] = [];
  const recorded: string[] = [];
  const events = new PodEvents(clock);
  events.subscribe(({ metadata }, { type, reason, message }) =>
    recorded.push(`${metadata.name}: ${type} ${reason}: ${message}`),
  );
  type Generation = (generate: () => Promise<SigningKey>) => Promise<SigningKey>;
  let generation: Generation = (generate) => generate();
  const life = new AbortController();
  const node = { uid: nodeUid };
  const certificates = new IssuedCertificates(
    {
      api,
      keys: { generateOfType: (keyType) => generation(() => keys.generateOfType(keyType)) },
      nodeName: 'box',
      nodeUid: () => node.uid,
      events,
      onChange: (uid) => woken.push(uid),
      clock,
      random,
      log: silentLog,
    },
    life.signal,
  );
  const running = certificates.run(life.signal);
  const requests = async (): Promise<readonly PodCertificateRequest[]> =>
    (await api.direct.list({ resource: 'podcertificaterequests' }, FOREVER)).items;
  const keyOf = ({ metadata }: PodCertificateRequest) =>
    ({ resource: 'podcertificaterequests', namespace: 'default', name: metadata.name }) as const;
  return {
    api,
    clock,
    woken,
    recorded,
    certificates,
    node,
    slowKeys(slow: Generation): void {
      generation = slow;
    },
    account: accountObject,
    requests,
    remove: (request: PodCertificateRequest) => api.direct.delete(keyOf(request), {}, FOREVER),
    /** Sets a condition of the newest request, as its signer does. */
    async answer(type: string, status: PodCertificateRequestStatus = {}): Promise<void> {
      const request = (await requests()).toSorted(byVersion).at(-1);
      assert.ok(request);
      const lastTransitionTime = formatTime(clock.now());
      const condition = { type, status: 'True', reason: 'Policy', message: 'says "so"', lastTransitionTime };
      const patch = { status: { ...status, conditions: [condition] } };
      await api.direct.patch(keyOf(request), patch, { subresource: 'status' }, FOREVER);
      await clock.advance(0);
    },
    lifetime: (value: number, refreshMs: number, lifeMs: number): PodCertificateRequestStatus => ({
      certificateChain: chain(value),
      notBefore: formatTime(clock.now()),
      beginRefreshAt: formatTime(clock.now() + refreshMs),
      notAfter: formatTime(clock.now() + lifeMs),
    }),
    async credentials(source: typeof SOURCE | { volume: string } = SOURCE): Promise<PodCredentials | string> {
      const asked = certificates.credentials(POD, { ...SOURCE, ...source }, FOREVER);
      return clock.runUntil(asked.catch((error: Error) => error.message));
    },
    async [Symbol.asyncDispose]() {
      life.abort();
      await clock.advance(0);
      await running;
      assert.equal(api.watches, 0);
    },
  };
}

function byVersion(a: PodCertificateRequest, b: PodCertificateRequest): number {
  return Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion);
}

function credentialsOf(found: PodCredentials | string): PodCredentials {
  if (typeof found === 'string') throw new Error(found);
  return found;
}

test('a request has everything of the pod, its account and its node, and proves its key', async () => {
  await using it = await setUp();
  assert.equal(await it.credentials(), NOT_YET);
  const [request, ...others] = await it.requests();
  assert.ok(request);
  assert.deepEqual(others, []);
  assert.match(request.metadata.name, /^req-/);
  assert.deepEqual(request.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u1' }]);
  const { stubPKCS10Request, ...spec } = request.spec;
  assert.deepEqual(spec, {
    signerName: SIGNER,
    podName: 'web',
    podUID: 'u1',
    serviceAccountName: 'builder',
    serviceAccountUID: it.account.metadata.uid,
    nodeName: 'box',
    nodeUID: 'node-uid',
    maxExpirationSeconds: 7200,
    unverifiedUserAnnotations: { 'corp.example/role': 'web' },
  });
  await it.answer('Issued', it.lifetime(1, HOUR, 2 * HOUR));
  const { key } = credentialsOf(await it.credentials());
  const der = Buffer.from(stubPKCS10Request, 'base64');
  const stub = readCertificateRequest(pemText({ label: 'CERTIFICATE REQUEST', der }));
  const signingKey = readSigningKey(key);
  assert.deepEqual(stub.publicKey, signingKey.publicKey);
  assert.ok(signingKey.isSignature(stub.signature, stub.content));
  assert.deepEqual(Buffer.from(stub.subject), Buffer.of(0x30, 0));
});

test('a pod waits one second for its certificate, and is woken when it is issued', async () => {
  await using it = await setUp();
  const startMs = it.clock.now();
  assert.equal(await it.credentials(), NOT_YET);
  assert.equal(it.clock.now() - startMs, 1_000);
  assert.equal(await it.credentials(), NOT_YET);
  assert.equal(it.clock.now() - startMs, 1_000);
  assert.deepEqual(it.woken, []);
  await it.answer('Issued', it.lifetime(1, HOUR, 2 * HOUR));
  assert.deepEqual(it.woken, ['u1']);
  const { key, chain: certificates } = credentialsOf(await it.credentials());
  assert.equal(certificates, chain(1));
  assert.match(key, /^-----BEGIN PRIVATE KEY-----/);
  assert.deepEqual(it.certificates.counts(), [{ signerName: SIGNER, state: 'fresh', count: 1 }]);
});

test('each source has a key and a request of its own', async () => {
  await using it = await setUp();
  await it.credentials();
  await it.credentials({ volume: 'other' });
  const [one, two, ...others] = await it.requests();
  assert.notEqual(one?.spec.stubPKCS10Request, two?.spec.stubPKCS10Request);
  assert.deepEqual(others, []);
  assert.deepEqual(it.certificates.counts(), [{ signerName: SIGNER, state: 'not_yet_issued', count: 2 }]);
});

test('keys are generated one at a time', async () => {
  await using it = await setUp();
  let running = 0;
  const most: number[] = [];
  it.slowKeys(async (generate) => {
    most.push(++running);
    await it.clock.sleep(100, FOREVER);
    running--;
    return generate();
  });
  const volumes = ['a', 'b', 'c'];
  for (const volume of volumes) void it.certificates.credentials(POD, { ...SOURCE, volume }, FOREVER).catch(() => {});
  await it.clock.advance(1_000);
  assert.deepEqual(most, [1, 1, 1]);
  assert.equal((await it.requests()).length, 3);
});

for (const [type, event] of [
  ['Denied', 'was denied'],
  ['Failed', 'failed'],
] as const) {
  test(`a request with the condition ${type} is the last one of the pod`, async () => {
    await using it = await setUp();
    await it.credentials();
    await it.answer(type);
    assert.deepEqual(it.woken, ['u1']);
    const outcome = `PodCertificateRequest was permanently ${type.toLowerCase()}`;
    assert.equal(await it.credentials(), `${outcome}: reason="Policy" message="says \\"so\\""`);
    const name = (await it.requests())[0]?.metadata.name;
    const text = `PodCertificateRequest default/${name} ${event}, reason="Policy", message="says \\"so\\""`;
    assert.deepEqual(it.recorded, [`web: Warning ${type}: ${text}`]);
    await it.clock.advance(3 * HOUR);
    assert.equal((await it.requests()).length, 1);
  });
}

test('a certificate is renewed with a new key within five minutes of its refresh time, and used meanwhile', async () => {
  await using it = await setUp();
  await it.credentials();
  await it.answer('Issued', it.lifetime(1, HOUR, 2 * HOUR));
  const first = credentialsOf(await it.credentials());
  await it.clock.advance(HOUR - MINUTE);
  assert.equal((await it.requests()).length, 1);
  await it.clock.advance(6 * MINUTE);
  assert.equal((await it.requests()).length, 2);
  assert.deepEqual(await it.credentials(), first);
  assert.deepEqual(it.woken.splice(0), ['u1']);
  await it.answer('Issued', it.lifetime(2, HOUR, 2 * HOUR));
  assert.deepEqual(it.woken, ['u1']);
  const second = credentialsOf(await it.credentials());
  assert.equal(second.chain, chain(2));
  assert.notEqual(second.key, first.key);
  assert.deepEqual(it.recorded, []);
});

test('a renewal without an answer is reported once when it is overdue and once when it has expired', async () => {
  await using it = await setUp();
  await it.credentials();
  await it.answer('Issued', it.lifetime(1, HOUR, 2 * HOUR));
  await it.clock.advance(HOUR + 16 * MINUTE);
  assert.deepEqual(it.recorded, ['web: Warning CertificateOverdueForRefresh: PodCertificate refresh overdue']);
  assert.deepEqual(it.certificates.counts(), [{ signerName: SIGNER, state: 'overdue_for_refresh', count: 1 }]);
  await it.clock.advance(HOUR);
  assert.deepEqual(it.recorded.slice(1), ['web: Warning CertificateExpired: PodCertificate expired']);
  assert.equal(credentialsOf(await it.credentials()).chain, chain(1));
  assert.equal((await it.requests()).length, 2);
});

test('a deleted request is replaced ten to fifteen minutes after its creation', async () => {
  await using it = await setUp();
  await it.credentials();
  const [request] = await it.requests();
  assert.ok(request);
  await it.remove(request);
  await it.clock.advance(9 * MINUTE);
  assert.deepEqual(await it.requests(), []);
  await it.clock.advance(6 * MINUTE);
  const [again] = await it.requests();
  assert.notEqual(again?.metadata.name, request.metadata.name);
  await it.answer('Issued', it.lifetime(1, HOUR, 2 * HOUR));
  assert.equal(credentialsOf(await it.credentials()).chain, chain(1));
});

test('a request that cannot be created is tried again, and the cause says why', async () => {
  await using it = await setUp({ nodeUid: undefined });
  const error = await it.clock.runUntil(
    it.certificates.credentials(POD, SOURCE, FOREVER).catch((thrown: { podCause?: object }) => thrown),
  );
  const text = 'while getting node object from local cache: node "box" not found';
  assert.deepEqual('podCause' in error && error.podCause, {
    kind: 'podCertificateNotIssued',
    signer: SIGNER,
    request: undefined,
    error: text,
  });
  it.node.uid = 'node-uid';
  const before = new ApiError('Forbidden', 'not yet');
  it.api.faults.next('create', { kind: 'before', error: before });
  await it.clock.advance(2 * MINUTE);
  assert.equal((await it.requests()).length, 1);
});

test('an outage of the API server delays a certificate, and nothing else', async () => {
  await using it = await setUp();
  it.api.faults.setOutage(true);
  assert.equal(await it.credentials(), NOT_YET);
  await it.clock.advance(10 * MINUTE);
  it.api.faults.setOutage(false);
  await it.clock.advance(2 * MINUTE);
  await it.answer('Issued', it.lifetime(1, HOUR, 2 * HOUR));
  assert.equal(credentialsOf(await it.credentials()).chain, chain(1));
});

test('a pod that is forgotten requests nothing more', async () => {
  await using it = await setUp();
  await it.credentials();
  await it.answer('Issued', it.lifetime(1, HOUR, 2 * HOUR));
  it.certificates.forget('u1');
  await it.clock.advance(3 * HOUR);
  assert.equal((await it.requests()).length, 1);
  assert.deepEqual(it.certificates.counts(), []);
});
