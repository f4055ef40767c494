import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificateRequest } from './certificate-request.ts';
import { nodeSubject } from './certificate-subject.ts';
import { certificateScene } from './fake/certificate-scene.ts';
import { CLIENT_SIGNER, requestCertificate, SERVING_SIGNER } from './request-certificate.ts';

const NAME = 'node-csr-ours';
const KEY = { resource: 'certificatesigningrequests', namespace: '', name: NAME } as const;

/** An existing request of that name: its node, key and signer. */
async function setUp({ nodeName = 'box', isOwnKey = true, signerName = CLIENT_SIGNER, request = '' } = {}) {
  const { server, keys, clock, life, signer } = await certificateScene();
  signer.answer = 'ignore';
  const [own, other] = [await keys.generate(), await keys.generate()];
  const text = request || certificateRequest(nodeSubject(nodeName), isOwnKey ? own : other);
  const spec = { request: Buffer.from(text).toString('base64'), signerName, usages: ['client auth'] };
  const there = await server.create(KEY, { metadata: { name: NAME }, spec }, life.signal);
  const wanted = { subject: nodeSubject('box'), key: own, signerName: CLIENT_SIGNER, usages: ['client auth'] };
  const ask = (name?: string) =>
    requestCertificate(
      { ...wanted, ...(name !== undefined && { name }) },
      { api: server, nowMs: clock.now() },
      life.signal,
    );
  return { ask, there, life };
}

test('a request of ours is found again', async () => {
  const { ask, there, life } = await setUp();
  assert.deepEqual(await ask(NAME), { name: NAME, uid: there.metadata.uid });
  life.abort();
});

test('a request without a name is new each time', async () => {
  const { ask, life } = await setUp();
  const [one, two] = [await ask(), await ask()];
  assert.match(one.name, /^csr-/);
  assert.notEqual(one.uid, two.uid);
  life.abort();
});

const others: Record<string, { there: Parameters<typeof setUp>[0]; message: RegExp }> = {
  'of another node': { there: { nodeName: 'other' }, message: /not compatible: csr subjects differ/ },
  'of another key': { there: { isOwnKey: false }, message: /not compatible: error validating signature/ },
  'to another signer': {
    there: { signerName: SERVING_SIGNER },
    message: /not compatible: csr signerNames differ: new "/,
  },
  'that is invalid': {
    there: { request: 'nonsense' },
    message: /not compatible: unable to parse new csr: PEM block type/,
  },
};
for (const [name, { there, message }] of Object.entries(others)) {
  test(`a request ${name} under our name is not ours`, async () => {
    const { ask, life } = await setUp(there);
    await assert.rejects(ask(NAME), { name: 'CertificateRequestError', message });
    life.abort();
  });
}

test('a caller that aborts gets its own reason', async () => {
  const { ask, life } = await setUp();
  life.abort(new Error('enough'));
  await assert.rejects(ask('other'), { message: 'enough' });
});
