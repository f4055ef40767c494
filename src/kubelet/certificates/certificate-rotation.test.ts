import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../api-client/api-server.ts';
import { CertificateRotation, renewalMs, type WantedSubject } from './certificate-rotation.ts';
import { type CertificateSubject, nodeSubject } from './certificate-subject.ts';
import { certificateScene } from './fake/certificate-scene.ts';
import type { HeldCertificate } from './held-certificate.ts';
import { Listeners } from './listeners.ts';
import { CLIENT_SIGNER } from './request-certificate.ts';
import { selfSigned } from './self-signed.ts';

const HOUR_MS = 3600_000;

class Subject implements WantedSubject {
  readonly #listeners = new Listeners();
  #value: CertificateSubject | undefined;

  constructor(value: CertificateSubject | undefined) {
    this.#value = value;
  }

  set(value: CertificateSubject | undefined): void {
    this.#value = value;
    this.#listeners.notify();
  }

  current = () => this.#value;
  subscribe = (listener: () => void) => this.#listeners.add(listener);
}

async function setUp(subject: CertificateSubject | undefined = nodeSubject('box')) {
  const scene = await certificateScene();
  const { life, server } = scene;
  const wanted = new Subject(subject);
  const store = scene.store('kubelet-client');
  const asked: (HeldCertificate | undefined)[] = [];
  const apiOf = (current: HeldCertificate | undefined) => {
    asked.push(current);
    return server;
  };
  const make = () =>
    new CertificateRotation(
      { signerName: CLIENT_SIGNER, usages: ['digital signature', 'client auth'] },
      { ...scene, store, wanted, apiFor: apiOf },
    );
  const start = async (rotation = make()) => {
    await rotation.load();
    return { rotation, ended: rotation.run(life.signal) };
  };
  return { ...scene, wanted, store, asked, make, start };
}

test('renewalMs() is after 70 to 90 % of the lifetime', () => {
  const life = { subject: nodeSubject('box'), validFromMs: 1000, validUntilMs: 2000 };
  assert.deepEqual(
    [0, 0.5, 1].map((fraction) => renewalMs(life, fraction)),
    [1700, 1800, 1900],
  );
});

test('without a certificate one is requested at once, and listeners are notified when it is on disk', async () => {
  const { clock, start, signer, store, life, asked } = await setUp();
  const { rotation, ended } = await start();
  const notified: (string | undefined)[] = [];
  rotation.subscribe(() => notified.push(rotation.current()?.certificate));
  await clock.advance(0);
  assert.deepEqual(notified, [(await store.current())?.certificate]);
  assert.deepEqual(asked, [undefined]);
  const { metadata, spec } = signer.requests[0] ?? assert.fail('nothing was asked for');
  assert.match(metadata.name, /^csr-.{5}$/);
  assert.deepEqual([spec.signerName, spec.usages], [CLIENT_SIGNER, ['digital signature', 'client auth']]);
  assert.deepEqual(rotation.current()?.subject, nodeSubject('box'));
  life.abort();
  await ended;
});

test('a certificate is renewed with a new key within 70 to 90 % of its lifetime, and not before', async () => {
  const { clock, start, signer, life } = await setUp();
  const { rotation, ended } = await start();
  await clock.advance(2_000);
  const first = rotation.current();
  await clock.advance(0.7 * 24 * HOUR_MS - 3_000);
  assert.equal(signer.requests.length, 1);
  await clock.advance(0.2 * 24 * HOUR_MS + 3_000);
  assert.equal(signer.requests.length, 2);
  assert.notEqual(rotation.current()?.key, first?.key);
  life.abort();
  await ended;
});

test('a restart continues with the stored certificate', async () => {
  const { clock, start, make, signer, life } = await setUp();
  const { rotation, ended } = await start();
  await clock.advance(2_000);
  const next = make();
  await next.load();
  assert.equal(next.current()?.key, rotation.current()?.key);
  life.abort();
  await ended;
  assert.equal(signer.requests.length, 1);
});

test('an initial certificate is stored and replaced at once; a valid stored one has precedence', async () => {
  const { clock, make, keys, random, store, life, asked } = await setUp();
  const first = await selfSigned('admin', [], { keys, random, nowMs: clock.now() });
  const rotation = make();
  await rotation.load(first);
  assert.equal((await store.current())?.key, first.key);
  const ended = rotation.run(life.signal);
  await clock.advance(1_000);
  assert.equal(asked[0]?.key, first.key);
  assert.notEqual(rotation.current()?.key, first.key);
  const next = make();
  await next.load(first);
  assert.equal(next.current()?.key, rotation.current()?.key);
  life.abort();
  await ended;
});

test('an expired certificate is not used', async () => {
  const { clock, start, signer, life, asked } = await setUp();
  const { rotation, ended } = await start();
  await clock.advance(0);
  signer.answer = 'ignore';
  await clock.advance(24 * HOUR_MS - 1);
  assert.ok(rotation.current());
  await clock.advance(1_001);
  assert.equal(rotation.current(), undefined);
  signer.answer = 'sign';
  await clock.advance(16 * 60_000);
  assert.ok(rotation.current());
  assert.equal(asked.at(-1), undefined);
  life.abort();
  await ended;
});

test('a request without an answer is repeated after 15 minutes', async () => {
  const { clock, start, signer, life } = await setUp();
  signer.answer = 'ignore';
  const { ended } = await start();
  await clock.advance(15 * 60_000);
  assert.equal(signer.requests.length, 1);
  await clock.advance(3_000);
  assert.equal(signer.requests.length, 2);
  life.abort();
  await ended;
});

for (const [answer, words] of [
  ['deny', 'is denied'],
  ['fail', 'failed'],
] as const) {
  test(`a request that ${words} is repeated, in the end every half minute`, async () => {
    const { clock, start, signer, life, logged } = await setUp();
    signer.answer = answer;
    const { ended } = await start();
    const counts: number[] = [];
    for (const ms of [0, 2_200, 4_400, 8_800, 17_600, 35_200, 35_200]) {
      await clock.advance(ms);
      counts.push(signer.requests.length);
    }
    assert.deepEqual(counts, [1, 2, 3, 4, 5, 6, 7]);
    assert.match(logged[0] ?? '', new RegExp(`certificate signing request ${words}, reason: Test, message: so it is`));
    life.abort();
    await ended;
  });
}

test('an unavailable server is asked again', async () => {
  const { clock, start, server, life, logged } = await setUp();
  server.faults.next('create', { kind: 'before', error: new ApiError('Unavailable', 'connection refused') });
  const { rotation, ended } = await start();
  await clock.advance(0);
  assert.match(logged[0] ?? '', /cannot create certificate signing request: connection refused/);
  await clock.advance(2_200);
  assert.ok(rotation.current());
  life.abort();
  await ended;
});

test('nothing is requested until the subject is known', async () => {
  const { clock, start, wanted, signer, life } = await setUp(undefined);
  wanted.set(undefined);
  const { rotation, ended } = await start();
  await clock.advance(HOUR_MS);
  assert.deepEqual([signer.requests.length, clock.sleeping], [0, 0]);
  wanted.set(nodeSubject('box'));
  await clock.advance(0);
  assert.ok(rotation.current());
  life.abort();
  await ended;
});

test('a changed subject leads to a new certificate at once, unless the old one covers it', async () => {
  const on = (ipAddresses: readonly string[]) => ({ ...nodeSubject('box'), ipAddresses });
  const { clock, start, wanted, signer, life } = await setUp(on(['10.0.0.1', '10.0.0.2']));
  const { rotation, ended } = await start();
  await clock.advance(5_000);
  wanted.set(on(['10.0.0.2']));
  await clock.advance(5_000);
  assert.equal(signer.requests.length, 1);
  wanted.set(on(['10.0.0.3']));
  await clock.advance(0);
  assert.equal(signer.requests.length, 2);
  assert.deepEqual(rotation.current()?.subject.ipAddresses, ['10.0.0.3']);
  life.abort();
  await ended;
});

test('a request with an outdated subject is abandoned', async () => {
  const on = (ipAddresses: readonly string[]) => ({ ...nodeSubject('box'), ipAddresses });
  const { clock, start, wanted, signer, life } = await setUp(on(['10.0.0.1']));
  signer.answer = 'ignore';
  const { rotation, ended } = await start();
  await clock.advance(1_000);
  wanted.set(on(['10.0.0.1'])); // no change
  signer.answer = 'sign';
  wanted.set(on(['10.0.0.2']));
  await clock.advance(0);
  assert.equal(signer.requests.length, 2);
  assert.deepEqual(rotation.current()?.subject.ipAddresses, ['10.0.0.2']);
  life.abort();
  await ended;
});

test('a signer that omits names is not asked without a delay', async () => {
  const { clock, start, signer, life } = await setUp({ ...nodeSubject('box'), dnsNames: ['box'] });
  signer.leavesNamesOut = true;
  const { rotation, ended } = await start();
  await clock.advance(60_000);
  assert.equal(signer.requests.length, 5);
  assert.ok(rotation.current());
  life.abort();
  await ended;
});

test('a deleted request is repeated', async () => {
  const { clock, start, signer, server, life } = await setUp();
  signer.answer = 'ignore';
  const { ended } = await start();
  await clock.advance(1_000);
  const name = signer.requests[0]?.metadata.name ?? '';
  await server.direct.delete({ resource: 'certificatesigningrequests', namespace: '', name }, {}, life.signal);
  await clock.advance(2_200);
  assert.equal(signer.requests.length, 2);
  life.abort();
  await ended;
});
