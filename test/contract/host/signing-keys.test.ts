/** The contract of signing keys. */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { test } from 'node:test';
import { MemorySigningKeys } from '../../../src/host/fake/memory-signing-keys.ts';
import { SeededRandom } from '../../../src/host/fake/seeded-random.ts';
import { linuxSigningKeys } from '../../../src/host/linux/linux-signing-keys.ts';
import { KEY_TYPES, KeyError, type KeyType, readSigningKey, type SigningKeys } from '../../../src/host/signing-keys.ts';

const ALGORITHMS: Readonly<Record<KeyType, string>> = {
  RSA3072: 'sha256WithRSAEncryption',
  RSA4096: 'sha256WithRSAEncryption',
  ECDSAP256: 'ecdsa-with-SHA256',
  ECDSAP384: 'ecdsa-with-SHA384',
  ECDSAP521: 'ecdsa-with-SHA512',
  ED25519: 'Ed25519',
};
const DATA = new TextEncoder().encode('to be signed');

signingKeysContract('linux', () => linuxSigningKeys);
signingKeysContract('memory', () => new MemorySigningKeys(new SeededRandom(7)));

function signingKeysContract(name: string, makeKeys: () => SigningKeys): void {
  test(`${name} signing keys: each is different`, async () => {
    const keys = makeKeys();
    const [one, two] = [await keys.generate(), await keys.generate()];
    assert.notDeepEqual(one.publicKey, two.publicKey);
    assert.notEqual(one.pem, two.pem);
  });

  for (const type of KEY_TYPES) {
    test(`${name} signing keys: a key of type ${type} is in PKCS #8 and signs as in Go`, async () => {
      const keys = makeKeys();
      const [one, two] = [await keys.generateOfType(type), await keys.generateOfType(type)];
      assert.notEqual(one.pem, two.pem);
      assert.match(one.pem, /^-----BEGIN PRIVATE KEY-----\n/);
      assert.equal(one.algorithm, ALGORITHMS[type]);
      const { modulusLength } =
        createPublicKey({ key: Buffer.from(one.publicKey), format: 'der', type: 'spki' }).asymmetricKeyDetails ?? {};
      assert.equal(modulusLength, type.startsWith('RSA') ? Number(type.slice(3)) : undefined);
      assert.ok(one.isSignature(one.sign(DATA), DATA));
      assert.ok(!two.isSignature(one.sign(DATA), DATA));
    });
  }

  test(`${name} signing keys: a signature is valid only for its key and data`, async () => {
    const keys = makeKeys();
    const [one, two] = [await keys.generate(), await keys.generate()];
    const signature = one.sign(DATA);
    assert.ok(one.isSignature(signature, DATA));
    assert.ok(!one.isSignature(signature, DATA.subarray(1)));
    assert.ok(!two.isSignature(signature, DATA));
  });

  test(`${name} signing keys: a key is read from its PEM, also between other blocks`, async () => {
    const key = await makeKeys().generate();
    const beside = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
    for (const text of [key.pem, `${beside}${key.pem}${beside}`]) {
      const again = readSigningKey(text);
      assert.deepEqual([again.kind, again.pem, again.publicKey], [key.kind, key.pem, key.publicKey]);
    }
  });
}

test('memory signing keys: the same seed makes the same keys and signatures', async () => {
  const sample = async () => {
    const key = await new MemorySigningKeys(new SeededRandom(3)).generate();
    return [key.pem, key.sign(DATA)];
  };
  assert.deepEqual(await sample(), await sample());
});

test('an invalid key is rejected without being shown', () => {
  const broken = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n';
  for (const text of ['', 'secret', broken]) {
    assert.throws(
      () => readSigningKey(text),
      (error) => error instanceof KeyError && !error.message.includes('secret'),
    );
  }
});
