import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { MemorySigningKeys } from '../../host/fake/memory-signing-keys.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { certificateRequest, readCertificateRequest } from './certificate-request.ts';
import { missingFrom, nodeSubject } from './certificate-subject.ts';
import { certificatesIn, loadCertificate } from './held-certificate.ts';
import { selfSigned } from './self-signed.ts';

const NOW_MS = 1_794_734_529_000;
const random = () => new SeededRandom(1);
const deps = () => ({ keys: new MemorySigningKeys(random()), random: random(), nowMs: NOW_MS });

test('selfSigned() creates kubelet’s certificate: for a year, from an hour ago, with its authority', async () => {
  const pair = await selfSigned('box', ['10.0.0.7', '2001:db8::7'], deps());
  const { subject, validFromMs, validUntilMs } = loadCertificate(pair.certificate, pair.key);
  assert.deepEqual(subject, {
    commonName: 'box@1794734529',
    organizations: [],
    dnsNames: ['box'],
    ipAddresses: ['10.0.0.7', '2001:DB8:0:0:0:0:0:7'],
  });
  assert.deepEqual([validFromMs, validUntilMs], [NOW_MS - 3_600_000, NOW_MS - 3_600_000 + 365 * 86_400_000]);
  const [leaf, authority] = pair.certificate
    .split(/(?<=-----END CERTIFICATE-----\n)/)
    .map((pem) => new X509Certificate(pem));
  assert.equal(authority?.subject, 'CN=box-ca@1794734529');
  assert.ok(authority?.ca && authority.verify(authority.publicKey));
  assert.ok(leaf?.checkIssued(authority) && leaf.verify(authority.publicKey) && !leaf.ca);
  assert.deepEqual(leaf?.keyUsage, ['1.3.6.1.5.5.7.3.1']);
});

test('selfSigned() accepts an address as the host', async () => {
  const { certificate, key } = await selfSigned('10.0.0.7', ['10.0.0.7'], deps());
  const { dnsNames, ipAddresses } = loadCertificate(certificate, key).subject;
  assert.deepEqual([dnsNames, ipAddresses], [[], ['10.0.0.7']]);
});

test('the same seed gives the same certificate', async () => {
  assert.deepEqual(await selfSigned('box', [], deps()), await selfSigned('box', [], deps()));
});

test('a request is decoded, and signed by its key', async () => {
  const key = await new MemorySigningKeys(random()).generate();
  const subject = { ...nodeSubject('box'), dnsNames: ['box'], ipAddresses: ['10.0.0.7'] };
  const read = readCertificateRequest(certificateRequest(subject, key));
  assert.deepEqual(read.publicKey, key.publicKey);
  assert.ok(key.isSignature(read.signature, read.content));
  assert.equal(read.extensions.length, 1);
  assert.deepEqual(readCertificateRequest(certificateRequest(nodeSubject('box'), key)).extensions, []);
});

test('loadCertificate() rejects a certificate and key that do not match', async () => {
  const [one, two] = [
    await selfSigned('one', [], deps()),
    await selfSigned('two', [], { ...deps(), random: random() }),
  ];
  const other = await new MemorySigningKeys(new SeededRandom(9)).generate();
  assert.throws(() => loadCertificate(one.certificate, other.pem), {
    message: 'private key does not match public key',
  });
  assert.throws(() => loadCertificate('', two.key), { message: /no certificate/ });
  assert.throws(() => loadCertificate(two.certificate, ''), { message: /no private key/ });
  assert.equal(loadCertificate(one.certificate + one.key, one.certificate + one.key).key, one.key);
  assert.equal(certificatesIn(one.certificate).length, 2);
});

const has = { commonName: 'a', organizations: ['g', 'h'], dnsNames: ['d', 'e'], ipAddresses: ['2001:DB8:0:0:0:0:0:7'] };
const wants: Record<string, { change: Partial<typeof has>; missing: string | undefined }> = {
  'accepts additional names': { change: { organizations: [], dnsNames: ['e'] }, missing: undefined },
  'accepts any spelling of an address': { change: { ipAddresses: ['2001:db8::7'] }, missing: undefined },
  'reports another common name': { change: { commonName: 'b' }, missing: 'common name b' },
  'reports a missing DNS name': { change: { dnsNames: ['d', 'f'] }, missing: 'DNS name f' },
  'reports a missing organization': { change: { organizations: ['i'] }, missing: 'organization i' },
};
for (const [name, { change, missing }] of Object.entries(wants)) {
  test(`missingFrom() ${name}`, () => assert.equal(missingFrom(has, { ...has, ...change }), missing));
}
