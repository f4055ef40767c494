import { createHash, type Hash } from 'node:crypto';

const DIGEST = /^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

/** The content does not match its digest. */
export class DigestError extends Error {
  override readonly name = 'DigestError';
}

export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

/** `sha256:…` */
export function digestOf(data: Uint8Array | string): string {
  return `sha256:${createHash('sha256').update(data).digest('hex')}`;
}

export function hexOf(digest: string): string {
  return digest.slice(digest.indexOf(':') + 1);
}

/** Throws `DigestError`. */
export function verifyDigest(data: Uint8Array, digest: string, what: string): void {
  const checked = new DigestVerifier(digest);
  checked.update(data);
  checked.verify(what);
}

/** Computes the digest of a stream and compares it with the expected one. */
export class DigestVerifier {
  readonly #expected: string;
  readonly #hash: Hash;

  constructor(expected: string) {
    if (!isDigest(expected)) throw new DigestError(`unsupported digest ${JSON.stringify(expected)}`);
    this.#expected = expected;
    this.#hash = createHash(expected.slice(0, expected.indexOf(':')));
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async *tee(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of source) {
      this.#hash.update(chunk);
      yield chunk;
    }
  }

  /** Throws `DigestError`. To be called once, after all data. */
  verify(what: string): void {
    const algorithm = this.#expected.slice(0, this.#expected.indexOf(':'));
    const found = `${algorithm}:${this.#hash.digest('hex')}`;
    if (found !== this.#expected) throw new DigestError(`${what}: has digest ${found}, expected ${this.#expected}`);
  }
}

/**
 * Returns the ID of each layer together with all below it, bottom first.
 * https://github.com/opencontainers/image-spec/blob/main/config.md#layer-chainid
 */
export function chainIds(diffIds: readonly string[]): readonly string[] {
  const chain: string[] = [];
  for (const diffId of diffIds) {
    const below = chain.at(-1);
    chain.push(below === undefined ? diffId : digestOf(`${below} ${diffId}`));
  }
  return chain;
}

/** Computes the digest and size of a stream. */
export class Digester {
  readonly #hash = createHash('sha256');
  size = 0;

  async *tee(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of source) {
      this.#hash.update(chunk);
      this.size += chunk.byteLength;
      yield chunk;
    }
  }

  /** To be called once, after all data. */
  digest(): string {
    return `sha256:${this.#hash.digest('hex')}`;
  }
}
