import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** Generates private keys. The implementation chooses their kind. */
export interface SigningKeys {
  /** A new key on each call. */
  generate(): Promise<SigningKey>;
}

export type KeyKind = 'ec' | 'rsa' | 'ed25519';

export interface SigningKey {
  readonly kind: KeyKind;
  /** PEM, never encrypted. */
  readonly pem: string;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Uint8Array;
  /** With SHA-256, except for kinds with a built-in digest. */
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
  const digest = kind === 'ed25519' ? null : 'sha256';
  return {
    kind,
    pem: text,
    publicKey: new Uint8Array(publicKey.export({ type: 'spki', format: 'der' })),
    sign: (data) => new Uint8Array(sign(digest, data, privateKey)),
    isSignature: (signature, data) => verify(digest, data, publicKey, signature),
  };
}

function parsed(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new KeyError('the private key cannot be read', { cause: error });
  }
}
