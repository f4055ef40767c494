import { createPrivateKey, X509Certificate } from 'node:crypto';
import { errorText } from '../../base/error-text.ts';
import { pemBlocks, pemText } from '../../base/pem.ts';
import type { CertificateSubject } from './certificate-subject.ts';
import type { KeyPair } from './serving-certificate.ts';

/** The files do not contain a certificate with its key. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

/** The subject and validity of a certificate. */
export interface CertificateInfo {
  readonly subject: CertificateSubject;
  /** Milliseconds since 1970. */
  readonly validFromMs: number;
  readonly validUntilMs: number;
}

/** A certificate with its private key. */
export interface HeldCertificate extends KeyPair, CertificateInfo {}

/**
 * Parses a certificate chain and its key, from one text or two. The first certificate is the leaf. Throws a
 * `CertificateError`.
 */
export function loadCertificate(certificateText: string, keyText: string): HeldCertificate {
  const chain = pemBlocks(certificateText).filter(({ label }) => label === 'CERTIFICATE');
  const key = pemBlocks(keyText).find(({ label }) => label.endsWith('PRIVATE KEY'));
  const [leaf] = chain;
  if (!leaf) throw new CertificateError('invalid certificate data: there is no certificate');
  if (!key) throw new CertificateError('invalid key data: there is no private key');
  const pair = { certificate: chain.map(pemText).join(''), key: pemText(key) };
  const certificate = parseDer(leaf.der);
  if (!matchesKey(certificate, pair.key)) throw new CertificateError('private key does not match public key');
  return { ...pair, ...certificateInfo(certificate) };
}

/** All certificates in a text. Throws a `CertificateError` if there are no certificates, or for an invalid one. */
export function certificatesIn(text: string): readonly CertificateInfo[] {
  const chain = pemBlocks(text).filter(({ label }) => label === 'CERTIFICATE');
  if (chain.length === 0) throw new CertificateError('data does not contain any valid RSA or ECDSA certificates');
  return chain.map(({ der }) => certificateInfo(parseDer(der)));
}

function parseDer(der: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch (error) {
    throw new CertificateError(`unable to parse certificate data: ${errorText(error)}`, { cause: error });
  }
}

function matchesKey(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    throw new CertificateError('invalid key data: it cannot be read', { cause: error });
  }
}

function certificateInfo(certificate: X509Certificate): CertificateInfo {
  const { subject } = certificate.toLegacyObject();
  const all = (value: string | readonly string[] | undefined): readonly string[] =>
    value === undefined ? [] : typeof value === 'string' ? [value] : value;
  return {
    subject: {
      commonName: all(subject?.CN).at(-1) ?? '',
      organizations: all(subject?.O),
      dnsNames: alternativeNamesOf(certificate, 'DNS:'),
      ipAddresses: alternativeNamesOf(certificate, 'IP Address:'),
    },
    validFromMs: certificate.validFromDate.getTime(),
    validUntilMs: certificate.validToDate.getTime(),
  };
}

function alternativeNamesOf({ subjectAltName = '' }: X509Certificate, kind: 'DNS:' | 'IP Address:'): readonly string[] {
  const names = (subjectAltName ?? '').split(', ');
  return names.filter((each) => each.startsWith(kind)).map((each) => each.slice(kind.length));
}
