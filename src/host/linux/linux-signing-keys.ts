import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { readSigningKey, type SigningKeys } from '../signing-keys.ts';

const generate = promisify(generateKeyPair);

/** P-256 keys in kubelet's format: `EC PRIVATE KEY`. */
export const linuxSigningKeys: SigningKeys = {
  async generate() {
    const { privateKey } = await generate('ec', { namedCurve: 'P-256' });
    return readSigningKey(privateKey.export({ type: 'sec1', format: 'pem' }).toString());
  },
};
