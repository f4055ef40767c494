import { pemText } from '../../base/pem.ts';
import type { Random } from '../random.ts';
import { readSigningKey, type SigningKey, type SigningKeys } from '../signing-keys.ts';

/** The PKCS #8 prefix of the 32 bytes of an Ed25519 key. */
const ED25519_PREFIX = [0x30, 0x2e, 0x02, 0x01, 0, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

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
}
