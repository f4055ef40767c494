/** openssl reads the certificates and requests that we write. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { KEY_TYPES } from '../../src/host/signing-keys.ts';
import { certificateRequest, stubCertificateRequest } from '../../src/kubelet/certificates/certificate-request.ts';
import { nodeSubject } from '../../src/kubelet/certificates/certificate-subject.ts';
import { selfSigned } from '../../src/kubelet/certificates/self-signed.ts';
import { certificatesSkipReason } from './cluster-certificates.ts';

const skip = certificatesSkipReason();
const folder = mkdtempSync(join(tmpdir(), 'nodelet-openssl-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const { signingKeys: keys, random, clock } = createLinuxHost(process.env);

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function openssl(...args: readonly string[]): string {
  return execFileSync('/usr/bin/openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

test('openssl verifies a request and reads its names', { skip }, async () => {
  const key = await keys.generate();
  const subject = { ...nodeSubject('böx'), dnsNames: ['box'], ipAddresses: ['10.0.0.7', '2001:db8::7'] };
  const path = file('request.pem', certificateRequest(subject, key));
  const text = openssl('req', '-in', path, '-noout', '-verify', '-text', '-nameopt', 'utf8,sep_comma_plus');
  assert.match(text, /Subject: O=system:nodes,CN=system:node:böx/);
  assert.match(text, /DNS:box, IP Address:10\.0\.0\.7, IP Address:2001:DB8:0:0:0:0:0:7/);
  assert.match(text, /Signature Algorithm: ecdsa-with-SHA256/);
});

test('openssl trusts a server certificate of ours through its own CA', { skip }, async () => {
  const pair = await selfSigned('box', ['10.0.0.7'], { keys, random, nowMs: clock.now() });
  const [leaf = '', authority = ''] = pair.certificate.split(/(?<=-----END CERTIFICATE-----\n)/);
  const [leafPath, authorityPath] = [file('leaf.pem', leaf), file('authority.pem', authority)];
  const checks = ['-x509_strict', '-purpose', 'sslserver', '-verify_hostname', 'box'];
  assert.match(openssl('verify', ...checks, '-CAfile', authorityPath, leafPath), /leaf\.pem: OK/);
  assert.match(openssl('verify', '-verify_ip', '10.0.0.7', '-CAfile', authorityPath, leafPath), /leaf\.pem: OK/);
  openssl('ec', '-in', file('key.pem', pair.key), '-check', '-noout');
});

for (const type of KEY_TYPES) {
  test(`openssl verifies a stub request of a key of type ${type}`, { skip }, async () => {
    const key = await keys.generateOfType(type);
    const path = file(`${type}.der`, stubCertificateRequest(key));
    const text = openssl('req', '-inform', 'DER', '-in', path, '-noout', '-verify', '-text');
    assert.match(text, /Subject: *\n/);
    assert.match(text, new RegExp(`Signature Algorithm: ${key.algorithm}`, 'i'));
  });
}
