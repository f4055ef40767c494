import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { type KeyType, readSigningKey, type SigningKeys } from '../signing-keys.ts';

const generate = promisify(generateKeyPair);

export const linuxSigningKeys: SigningKeys = {
  /** P-256 keys in kubelet's format: `EC PRIVATE KEY`. */
  async generate() {
    const { privateKey } = await generate('ec', { namedCurve: 'P-256' });
    return readSigningKey(privateKey.export({ type: 'sec1', format: 'pem' }).toString());
  },
  async generateOfType(type) {
    const { privateKey } = await GENERATORS[type]();
    return readSigningKey(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  },
};

const GENERATORS: Readonly<Record<KeyType, () => Promise<{ readonly privateKey: KeyObject }>>> = {
  RSA3072: () => generate('rsa', { modulusLength: 3072 }),
  RSA4096: () => generate('rsa', { modulusLength: 4096 }),
  ECDSAP256: () => generate('ec', { namedCurve: 'P-256' }),
  ECDSAP384: () => generate('ec', { namedCurve: 'P-384' }),
  ECDSAP521: () => generate('ec', { namedCurve: 'P-521' }),
  ED25519: () => generate('ed25519'),
};
