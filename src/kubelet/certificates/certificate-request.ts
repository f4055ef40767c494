import { derContext, derInteger, derObjectId, derSequence, derSet, derValues } from '../../base/der.ts';
import { pemBlocks, pemText } from '../../base/pem.ts';
import type { SigningKey } from '../../host/signing-keys.ts';
import type { CertificateSubject } from './certificate-subject.ts';
import { alternativeNames, distinguishedName, signed } from './x509.ts';

const LABEL = 'CERTIFICATE REQUEST';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

/** The text is not a certificate request. */
export class RequestSyntaxError extends Error {
  override readonly name = 'RequestSyntaxError';
}

/** A certificate request (PKCS #10) in PEM. */
export function certificateRequest(subject: CertificateSubject, key: SigningKey): string {
  const names = alternativeNames(subject);
  const wanted = derSequence(derObjectId(EXTENSION_REQUEST), derSet(derSequence(...names)));
  const attributes = names.length > 0 ? [wanted] : [];
  return pemText({ label: LABEL, der: signedRequest(distinguishedName(subject), attributes, key) });
}

/** A certificate request in DER that has only a public key, and proves that its private key exists. */
export function stubCertificateRequest(key: SigningKey): Uint8Array {
  return signedRequest(derSequence(), [], key);
}

function signedRequest(subject: Uint8Array, attributes: readonly Uint8Array[], key: SigningKey): Uint8Array {
  const content = derSequence(derInteger(Uint8Array.of(0)), subject, key.publicKey, derContext(0, ...attributes));
  return signed(content, key);
}

export interface CertificateRequestParts {
  /** The signed part. */
  readonly content: Uint8Array;
  readonly signature: Uint8Array;
  /** In DER. */
  readonly subject: Uint8Array;
  readonly publicKey: Uint8Array;
  /** The requested extensions, in DER. */
  readonly extensions: readonly Uint8Array[];
}

/** Throws a `RequestSyntaxError` or a `DerError`. */
export function readCertificateRequest(pem: string): CertificateRequestParts {
  const block = pemBlocks(pem)[0];
  if (block?.label !== LABEL) throw new RequestSyntaxError(`PEM block type must be ${LABEL}`);
  const [content, , signature] = derValues(derValues(block.der)[0]?.content ?? block.der);
  const [, subject, publicKey, attributes] = content ? derValues(content.content) : [];
  if (!content || !signature || !subject || !publicKey)
    throw new RequestSyntaxError('a part of the request is missing');
  return {
    content: content.encoded,
    signature: signature.content.subarray(1), // after the count of unused bits
    subject: subject.encoded,
    publicKey: publicKey.encoded,
    extensions: attributes ? wantedExtensions(attributes.content) : [],
  };
}

function wantedExtensions(attributes: Uint8Array): readonly Uint8Array[] {
  const id = Buffer.from(derObjectId(EXTENSION_REQUEST));
  for (const attribute of derValues(attributes)) {
    const [type, values] = derValues(attribute.content);
    if (!type || !values || !id.equals(type.encoded)) continue;
    return derValues(values.content).flatMap(({ content }) => derValues(content).map(({ encoded }) => encoded));
  }
  return [];
}
