import { pemText } from '../../base/pem.ts';
import type { Random } from '../random.ts';
import { readSigningKey, type SigningKey, type SigningKeys } from '../signing-keys.ts';

/** What stands before the 32 bytes of an Ed25519 key in PKCS #8. */
const ED25519_PREFIX = [0x30, 0x2e, 0x02, 0x01, 0, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/** Ed25519, where a key is 32 bytes and a signature has no chance in it: the same randomness makes the same keys. */
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
