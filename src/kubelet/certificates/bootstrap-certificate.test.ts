import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bootstrapCertificate } from './bootstrap-certificate.ts';
import { nodeSubject } from './certificate-subject.ts';
import { certificateScene, FOLDER } from './fake/certificate-scene.ts';
import { CLIENT_SIGNER } from './request-certificate.ts';

const TEMPORARY = `${FOLDER}/kubelet-client.key.tmp`;

async function setUp() {
  const scene = await certificateScene();
  const store = scene.store('kubelet-client');
  const start = (signal = scene.life.signal) =>
    bootstrapCertificate({ nodeName: 'box', folder: FOLDER }, { ...scene, store, api: scene.server }, signal);
  return { ...scene, store, start };
}

test('the first certificate is stored, and its temporary key file is removed', async () => {
  const { clock, start, signer, store, fs, life } = await setUp();
  await clock.runUntil(start());
  const { metadata, spec } = signer.requests[0] ?? assert.fail('nothing was asked for');
  assert.match(metadata.name, /^node-csr-[\w-]{43}$/);
  assert.deepEqual([spec.signerName, spec.usages], [CLIENT_SIGNER, ['digital signature', 'client auth']]);
  assert.deepEqual((await store.current())?.subject, nodeSubject('box'));
  assert.equal(await fs.stat(TEMPORARY), undefined);
  life.abort();
});

test('a restart continues with the same request, and so does a timeout', async () => {
  const { clock, start, signer, store, fs, life } = await setUp();
  signer.answer = 'ignore';
  const firstLife = new AbortController();
  const first = start(firstLife.signal).catch(() => undefined);
  await clock.advance(3600_000 + 60_000);
  firstLife.abort();
  await first;
  assert.equal((await fs.stat(TEMPORARY))?.mode, 0o600);
  const [key, [request]] = [await fs.readText(TEMPORARY), signer.requests];
  const second = start();
  await clock.advance(60_000);
  assert.equal(signer.requests.length, 1);
  await signer.sign(request ?? assert.fail('nothing was asked for'), life.signal);
  await clock.runUntil(second);
  assert.equal((await store.current())?.key, key);
  life.abort();
});

test('the key of an expired certificate is used for the next', async () => {
  const { clock, start, signer, store, life } = await setUp();
  signer.lifeMs = 60_000;
  await clock.runUntil(start());
  const old = await store.current();
  await clock.advance(120_000);
  const [request] = signer.requests;
  const key = { resource: 'certificatesigningrequests', namespace: '', name: request?.metadata.name ?? '' } as const;
  await signer.api.delete(key, {}, life.signal); // the cluster's garbage collection
  await clock.runUntil(start());
  const next = await store.current();
  assert.equal(next?.key, old?.key);
  assert.notEqual(next?.certificate, old?.certificate);
  assert.equal(signer.requests[1]?.metadata.name, request?.metadata.name);
  life.abort();
});

test('an issued but expired certificate is not used', async () => {
  const { clock, start, signer, logged, life } = await setUp();
  signer.lifeMs = 60_000;
  await clock.runUntil(start());
  await clock.advance(120_000);
  const again = new AbortController();
  const ended = start(again.signal).catch(() => undefined);
  await clock.advance(10_000);
  assert.match(logged.at(-1) ?? '', /csr is not compatible: one of the certificates for the CSR has expired/);
  again.abort();
  await ended;
  life.abort();
});

test('an unreadable key of an earlier attempt is replaced', async () => {
  const { clock, start, store, fs, life } = await setUp();
  await fs.makeDirectory(FOLDER);
  await fs.writeFile(TEMPORARY, 'cut off');
  await clock.runUntil(start());
  assert.ok(await store.current());
  life.abort();
});

test('a denied request is checked repeatedly', async () => {
  const { clock, start, signer, logged, life } = await setUp();
  signer.answer = 'deny';
  const ended = start().catch(() => undefined);
  await clock.advance(10_000);
  assert.ok(logged.length >= 2);
  assert.match(logged[0] ?? '', /certificate signing request is denied, reason: Test, message: so it is/);
  assert.equal(signer.requests.length, 1);
  life.abort();
  await ended;
});
