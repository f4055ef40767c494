import { createECDH, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { pemText } from '../../base/pem.ts';
import type { Random } from '../random.ts';
import { type KeyType, readSigningKey, type SigningKey, type SigningKeys } from '../signing-keys.ts';

/** The PKCS #8 prefix of the 32 bytes of an Ed25519 key. */
const ED25519_PREFIX = [0x30, 0x2e, 0x02, 0x01, 0, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

const CURVES = {
  ECDSAP256: { name: 'prime256v1', crv: 'P-256', bytes: 32 },
  ECDSAP384: { name: 'secp384r1', crv: 'P-384', bytes: 48 },
  ECDSAP521: { name: 'secp521r1', crv: 'P-521', bytes: 66 },
} as const;

/** Ed25519: a key is 32 random bytes and signatures are deterministic, so the same seed gives the same keys. */
export class MemorySigningKeys implements SigningKeys {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  async generate(): Promise<SigningKey> {
    const der = Uint8Array.from([...ED25519_PREFIX, ...this.#random.bytes(32)]);
    return readSigningKey(pemText({ label: 'PRIVATE KEY', der }));
  }
  /** At once: virtual time does not wait for threads. RSA keys do not depend on the seed. */
  async generateOfType(type: KeyType): Promise<SigningKey> {
    switch (type) {
      case 'ED25519':
        return this.generate();
      case 'RSA3072':
      case 'RSA4096':
        return pkcs8(generateKeyPairSync('rsa', { modulusLength: Number(type.slice(3)) }).privateKey);
      default:
        return pkcs8(this.#ellipticKey(CURVES[type]));
    }
  }

  #ellipticKey({ name, crv, bytes }: (typeof CURVES)[keyof typeof CURVES]): KeyObject {
    const scalar = this.#random.bytes(bytes);
    scalar[0] = 0; // below the order of each curve
    const pair = createECDH(name);
    pair.setPrivateKey(scalar);
    const point = pair.getPublicKey(); // 4, then both coordinates
    const text = (number: Uint8Array): string => Buffer.from(number).toString('base64url');
    const [x, y] = [text(point.subarray(1, 1 + bytes)), text(point.subarray(1 + bytes))];
    const key = { kty: 'EC', crv, x, y, d: text(scalar) };
    return createPrivateKey({ key, format: 'jwk' });
  }
}

function pkcs8(key: KeyObject): SigningKey {
  return readSigningKey(key.export({ type: 'pkcs8', format: 'pem' }).toString());
}
