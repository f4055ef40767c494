import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeAddress } from '../../api/generated/core-v1.ts';
import { readSigningKey } from '../../host/signing-keys.ts';
import { certificateRequest, readCertificateRequest } from './certificate-request.ts';
import { type CertificateSubject, nodeSubject } from './certificate-subject.ts';
import { bootstrapRequestName, bootstrapUsages, servingSubject } from './node-certificates.ts';

// Made by Go’s crypto/x509 and with kubelet’s request name, for a key that is not used elsewhere.
const KEY = readSigningKey(`-----BEGIN EC PRIVATE KEY-----
MHcCAQEEICzNkSNcKs3Ryr9IBqna8ktpZQHuotkXwaCEKbWcIecCoAoGCCqGSM49
AwEHoUQDQgAEElqpSXsqmtivshl1We+kgjR9E2khXRDvqLoWk6vtTilCf6ycB34K
Ds0bfu2/YPxriG0ecGlZer31WPF0L//1YA==
-----END EC PRIVATE KEY-----
`);
const NAME = 'node-csr-IfBgzfxaXVzSmD0vHU7g-8sAQoFtK9invrjLcKB8lKE';
const HEAD =
  'AgEAMDExFTATBgNVBAoTDHN5c3RlbTpub2RlczEYMBYGA1UEAxMPc3lzdGVtOm5vZGU6Ym94MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE' +
  'ElqpSXsqmtivshl1We+kgjR9E2khXRDvqLoWk6vtTilCf6ycB34KDs0bfu2/YPxriG0ecGlZer31WPF0L//1YK';
const goRequests: Record<string, { subject: CertificateSubject; content: string }> = {
  'a client': { subject: nodeSubject('box'), content: `MIGT${HEAD}AA` },
  'a server': {
    subject: { ...nodeSubject('box'), dnsNames: ['box'], ipAddresses: ['10.0.0.7', '2001:db8::7'] },
    content: `MIHM${HEAD}A5MDcGCSqGSIb3DQEJDjEqMCgwJgYDVR0RBB8wHYIDYm94hwQKAAAHhxAgAQ24AAAAAAAAAAAAAAAH`,
  },
};

for (const [name, { subject, content }] of Object.entries(goRequests)) {
  test(`the request of ${name} is Go’s, byte by byte`, () => {
    const read = readCertificateRequest(certificateRequest(subject, KEY));
    assert.equal(Buffer.from(read.content).toString('base64'), content);
    assert.ok(KEY.isSignature(read.signature, read.content));
  });
}

test('bootstrapRequestName() is kubelet’s', () => {
  assert.equal(bootstrapRequestName(KEY, nodeSubject('box'), bootstrapUsages(KEY.kind)), NAME);
  assert.notEqual(bootstrapRequestName(KEY, nodeSubject('bo'), bootstrapUsages(KEY.kind)), NAME);
});

test('bootstrapUsages() is longer for RSA', () => {
  assert.deepEqual(bootstrapUsages('rsa'), ['digital signature', 'client auth', 'key encipherment']);
});

const named = (dnsNames: readonly string[], ipAddresses: readonly string[]) => ({
  ...nodeSubject('box'),
  dnsNames,
  ipAddresses,
});
const cases: Record<string, { addresses: readonly NodeAddress[]; subject: CertificateSubject | undefined }> = {
  'is undefined without an address': { addresses: [], subject: undefined },
  'needs an IP address': { addresses: [{ type: 'Hostname', address: 'box' }], subject: undefined },
  'has all names and addresses, sorted and without duplicates': {
    addresses: [
      { type: 'InternalIP', address: '10.0.0.9' },
      { type: 'ExternalIP', address: '10.0.0.1' },
      { type: 'InternalIP', address: '10.0.0.1' },
      { type: 'Hostname', address: 'box' },
      { type: 'InternalDNS', address: 'box.local' },
      { type: 'ExternalDNS', address: 'a.example' },
    ],
    subject: named(['a.example', 'box', 'box.local'], ['10.0.0.1', '10.0.0.9']),
  },
  'treats a host name that is an address as one': {
    addresses: [{ type: 'Hostname', address: '10.0.0.1' }],
    subject: named([], ['10.0.0.1']),
  },
  'skips empty and invalid addresses': {
    addresses: [
      { type: 'InternalIP', address: 'box' },
      { type: 'InternalIP', address: '2001:db8::1' },
      { type: 'Hostname', address: '' },
    ],
    subject: named([], ['2001:db8::1']),
  },
};
for (const [name, { addresses, subject }] of Object.entries(cases)) {
  test(`servingSubject() ${name}`, () => assert.deepEqual(servingSubject('box', addresses), subject));
}
