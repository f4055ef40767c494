import { createHash } from 'node:crypto';
import {
  derBits,
  derBoolean,
  derContext,
  derImplicit,
  derInteger,
  derObjectId,
  derOctets,
  derSequence,
  derSet,
  derText,
  derTime,
  derValues,
} from '../../base/der.ts';
import { ipBytes } from '../../base/ip-address.ts';
import { pemText } from '../../base/pem.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { SignatureAlgorithm, SigningKey } from '../../host/signing-keys.ts';
import type { CertificateSubject } from './certificate-subject.ts';

const OID = {
  organization: '2.5.4.10',
  commonName: '2.5.4.3',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

const ALGORITHMS: Readonly<Record<SignatureAlgorithm, Uint8Array>> = {
  'ecdsa-with-SHA256': derSequence(derObjectId('1.2.840.10045.4.3.2')),
  'ecdsa-with-SHA384': derSequence(derObjectId('1.2.840.10045.4.3.3')),
  'ecdsa-with-SHA512': derSequence(derObjectId('1.2.840.10045.4.3.4')),
  sha256WithRSAEncryption: derSequence(derObjectId('1.2.840.113549.1.1.11'), Uint8Array.of(5, 0)),
  Ed25519: derSequence(derObjectId('1.3.101.112')),
};
const VERSION_3 = derContext(0, derInteger(Uint8Array.of(2)));
const KEY_ID_BYTES = 20;

/** A signed structure: content, algorithm and signature. */
export function signed(content: Uint8Array, key: SigningKey): Uint8Array {
  return derSequence(content, ALGORITHMS[key.algorithm], derBits(key.sign(content)));
}

export interface CertificateContent {
  /** At most eight bytes, unique per issuer. */
  readonly serial: Uint8Array;
  /** Names in DER. */
  readonly subject: Uint8Array;
  readonly issuer: Uint8Array;
  readonly validFromMs: number;
  readonly validUntilMs: number;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Uint8Array;
  /** In DER. */
  readonly extensions: readonly Uint8Array[];
}

/** Issues a certificate in PEM. */
export function issueCertificate(content: CertificateContent, issuerKey: SigningKey): string {
  const { serial, subject, issuer, publicKey, extensions } = content;
  const [from, until] = [content.validFromMs, content.validUntilMs].map((ms) => derTime(formatTime(ms)));
  const body = derSequence(
    VERSION_3,
    derInteger(serial),
    ALGORITHMS[issuerKey.algorithm],
    issuer,
    derSequence(from ?? new Uint8Array(), until ?? new Uint8Array()),
    subject,
    publicKey,
    ...(extensions.length > 0 ? [derContext(3, derSequence(...extensions))] : []),
  );
  return pemText({ label: 'CERTIFICATE', der: signed(body, issuerKey) });
}

/** A name in DER, the organizations first, as in Go. */
export function distinguishedName({
  commonName,
  organizations = [],
}: Pick<CertificateSubject, 'commonName'> & { readonly organizations?: readonly string[] }): Uint8Array {
  const attribute = (id: string, text: string): Uint8Array => derSequence(derObjectId(id), derText(text));
  const groups = organizations.map((each) => attribute(OID.organization, each)).sort(Buffer.compare);
  return derSequence(...(groups.length > 0 ? [derSet(...groups)] : []), derSet(attribute(OID.commonName, commonName)));
}

/** The subject alternative name extension; empty if there are no names. */
export function alternativeNames({
  dnsNames,
  ipAddresses,
}: Pick<CertificateSubject, 'dnsNames' | 'ipAddresses'>): readonly Uint8Array[] {
  const names = [
    ...dnsNames.map((name) => derImplicit(2, new TextEncoder().encode(name))),
    ...ipAddresses.flatMap((address) => {
      const bytes = ipBytes(address);
      return bytes ? [derImplicit(7, Uint8Array.from(bytes))] : [];
    }),
  ];
  return names.length === 0 ? [] : [extension(OID.subjectAltName, derSequence(...names))];
}

export function authorityExtensions(publicKey: Uint8Array): readonly Uint8Array[] {
  return [
    extension(OID.keyUsage, derBits(Uint8Array.of(0x84), 2), true), // digitalSignature and keyCertSign
    extension(OID.basicConstraints, derSequence(derBoolean(true)), true),
    extension(OID.subjectKeyId, derOctets(keyId(publicKey))),
  ];
}

export function serverExtensions(authorityKey: Uint8Array): readonly Uint8Array[] {
  return [
    extension(OID.keyUsage, derBits(Uint8Array.of(0x80), 7), true), // digitalSignature
    extension(OID.extendedKeyUsage, derSequence(derObjectId(OID.serverAuth))),
    extension(OID.basicConstraints, derSequence(), true),
    extension(OID.authorityKeyId, derSequence(derImplicit(0, keyId(authorityKey)))),
  ];
}

function extension(id: string, value: Uint8Array, isCritical = false): Uint8Array {
  return derSequence(derObjectId(id), ...(isCritical ? [derBoolean(true)] : []), derOctets(value));
}

/** The first bytes of the digest of the key without its algorithm (RFC 7093). */
function keyId(publicKey: Uint8Array): Uint8Array {
  const [info] = derValues(publicKey);
  const bits = info && derValues(info.content)[1];
  const digest = createHash('sha256').update(bits?.content.subarray(1) ?? publicKey);
  return new Uint8Array(digest.digest().subarray(0, KEY_ID_BYTES));
}
