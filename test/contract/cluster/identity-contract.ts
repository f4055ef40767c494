import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CertificateSigningRequest } from '../../../src/api/generated/core-v1.ts';
import { type ApiWorld, createPod, freshName, patience, watchLines } from './api-world.ts';

/** A request of `CN=system:node:box, O=system:nodes`, which is never approved. */
const PEM = `-----BEGIN CERTIFICATE REQUEST-----
MIHsMIGTAgEAMDExFTATBgNVBAoMDHN5c3RlbTpub2RlczEYMBYGA1UEAwwPc3lz
dGVtOm5vZGU6Ym94MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEVb52mLsLZQoF
d0S3rjAuxnFKzzQYWsbowMkV2WhQDtJefHT00/7olNVFbSZdWQi6bDEwdZ7COlt1
BW0IIPIq2KAAMAoGCCqGSM49BAMCA0gAMEUCIG2vrL39ftVuwgyVT6zbzSJO/VPF
UOcuvN3w6W3gKqz7AiEAy7KHcpeSk+0viELHXzsuVsNEKDFu8neLolNV+m1qE1E=
-----END CERTIFICATE REQUEST-----
`;

/** Tokens and certificates of pods and nodes. */
export function identityContract(worldOf: () => ApiWorld): void {
  const account = () => ({ namespace: worldOf().namespace, name: 'default' });
  const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

  test('a token is bound to its object, and has the requested lifetime', async () => {
    const { pod } = await createPod(worldOf(), { serviceAccountName: 'default' });
    const { name, uid } = pod.metadata;
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid };
    const spec = { audiences: ['vault'], expirationSeconds: 900, boundObjectRef };
    const { token, expirationTimestamp } = await worldOf().api.createToken(account(), spec, patience());
    const claims = claimsOf(token);
    assert.deepEqual(
      [claims.aud, claims.sub, claims.exp - claims.iat, claims['kubernetes.io'].pod],
      [['vault'], `system:serviceaccount:${worldOf().namespace}:default`, 900, { name, uid }],
    );
    assert.match(expirationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  test('a token of a missing account, for a missing pod or with a short lifetime is rejected', async () => {
    const { api } = worldOf();
    const { pod } = await createPod(worldOf(), { serviceAccountName: 'default' });
    const { name } = pod.metadata;
    const bound = (ref: object) => ({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...ref } });
    await assert.rejects(api.createToken({ ...account(), name: 'missing' }, {}, patience()), {
      reason: 'NotFound',
      message: 'serviceaccounts "missing" not found',
    });
    await assert.rejects(api.createToken(account(), bound({ name: 'missing' }), patience()), {
      reason: 'NotFound',
      message: 'pods "missing" not found',
    });
    await assert.rejects(api.createToken(account(), bound({ name, uid: 'other' }), patience()), {
      reason: 'Conflict',
      message:
        `Operation cannot be fulfilled on Pod "${name}": the UID in the bound object reference (other) does not match ` +
        'the UID in record. The object might have been deleted and then recreated',
    });
    await assert.rejects(api.createToken(account(), { expirationSeconds: 60 }, patience()), {
      reason: 'Invalid',
      message:
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: ' +
        'may not specify a duration less than 10 minutes',
    });
  });

  test('a token with an account uid is of that account only', async () => {
    const { api, namespace } = worldOf();
    const name = freshName('account');
    const key = { resource: 'serviceaccounts', namespace, name } as const;
    const created = await api.create(key, { metadata: { name, namespace, annotations: { team: 'a' } } }, patience());
    assert.deepEqual(await api.get(key, patience()), created);
    const { uid = '', annotations } = created.metadata;
    assert.deepEqual([created.kind, annotations], ['ServiceAccount', { team: 'a' }]);
    const { token } = await api.createToken({ namespace, name, uid }, {}, patience());
    assert.equal(claimsOf(token).sub, `system:serviceaccount:${namespace}:${name}`);
    await assert.rejects(api.createToken({ namespace, name, uid: 'other' }, {}, patience()), {
      reason: 'Conflict',
      message:
        `Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "${name}": the UID in the token request ` +
        `(other) does not match the UID of the service account (${uid})`,
    });
    await api.delete(key, { uid }, patience());
    await assert.rejects(api.get(key, patience()), {
      reason: 'NotFound',
      message: `serviceaccounts "${name}" not found`,
    });
  });

  test('a certificate request is stored, found and watched by its name', async () => {
    const { api } = worldOf();
    const request: CertificateSigningRequest = {
      metadata: { name: freshName('csr') },
      spec: {
        request: Buffer.from(PEM).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        usages: ['digital signature', 'client auth'],
      },
    };
    const { name } = request.metadata;
    const key = { resource: 'certificatesigningrequests', namespace: '', name } as const;
    const created = await api.create(key, request, patience());
    assert.deepEqual(
      [created.kind, created.spec.request, created.status],
      ['CertificateSigningRequest', request.spec.request, {}],
    );
    assert.deepEqual(await api.get(key, patience()), created);
    await api.delete(key, {}, patience());
    const { resourceVersion = '' } = created.metadata;
    const selection = { resource: key.resource, fieldSelector: `metadata.name=${name}`, resourceVersion };
    assert.deepEqual(await watchLines(worldOf(), selection, 1), [`DELETED ${name}`]);
  });
}
