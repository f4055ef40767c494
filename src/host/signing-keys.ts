import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** Generates private keys, off the main thread. */
export interface SigningKeys {
  /** A new key on each call. The implementation chooses its kind. */
  generate(): Promise<SigningKey>;
  /** A new key of that type on each call, in PKCS #8. */
  generateOfType(type: KeyType): Promise<SigningKey>;
}

/** The key types of pod certificates. */
export const KEY_TYPES = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'] as const;
export type KeyType = (typeof KEY_TYPES)[number];

export type KeyKind = 'ec' | 'rsa' | 'ed25519';

/** As Go chooses it for a key. */
export type SignatureAlgorithm =
  | 'ecdsa-with-SHA256'
  | 'ecdsa-with-SHA384'
  | 'ecdsa-with-SHA512'
  | 'sha256WithRSAEncryption'
  | 'Ed25519';

export interface SigningKey {
  readonly kind: KeyKind;
  readonly algorithm: SignatureAlgorithm;
  /** PEM, never encrypted. */
  readonly pem: string;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Uint8Array;
  sign(data: Uint8Array): Uint8Array;
  isSignature(signature: Uint8Array, data: Uint8Array): boolean;
}

/** The text is not a usable private key. The message shows none of it. */
export class KeyError extends Error {
  override readonly name = 'KeyError';
}

/** Reads the private key of a PEM text, which may have other blocks. Throws a `KeyError`. */
export function readSigningKey(pem: string): SigningKey {
  const text = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]+-----END \1-----\n?/.exec(pem)?.[0];
  if (text === undefined) throw new KeyError('there is no private key');
  const privateKey = parsed(text);
  const kind = privateKey.asymmetricKeyType;
  if (kind !== 'ec' && kind !== 'rsa' && kind !== 'ed25519') throw new KeyError(`cannot sign with a key of ${kind}`);
  const publicKey = createPublicKey(privateKey);
  const algorithm = algorithmOf(privateKey, kind);
  const digest = DIGESTS[algorithm];
  return {
    kind,
    algorithm,
    pem: text,
    publicKey: new Uint8Array(publicKey.export({ type: 'spki', format: 'der' })),
    sign: (data) => new Uint8Array(sign(digest, data, privateKey)),
    isSignature: (signature, data) => verify(digest, data, publicKey, signature),
  };
}

const DIGESTS: Readonly<Record<SignatureAlgorithm, string | null>> = {
  'ecdsa-with-SHA256': 'sha256',
  'ecdsa-with-SHA384': 'sha384',
  'ecdsa-with-SHA512': 'sha512',
  sha256WithRSAEncryption: 'sha256',
  Ed25519: null, // has a digest of its own
};

function algorithmOf({ asymmetricKeyDetails }: KeyObject, kind: KeyKind): SignatureAlgorithm {
  switch (kind) {
    case 'rsa':
      return 'sha256WithRSAEncryption';
    case 'ed25519':
      return 'Ed25519';
    case 'ec':
      if (asymmetricKeyDetails?.namedCurve === 'secp384r1') return 'ecdsa-with-SHA384';
      return asymmetricKeyDetails?.namedCurve === 'secp521r1' ? 'ecdsa-with-SHA512' : 'ecdsa-with-SHA256';
  }
}

function parsed(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new KeyError('the private key cannot be read', { cause: error });
  }
}
