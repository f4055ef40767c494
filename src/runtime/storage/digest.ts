import { createHash, type Hash } from 'node:crypto';

const DIGEST = /^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

/** Something is not what its digest says. */
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

/** Throws a `DigestError`. */
export function verifyDigest(data: Uint8Array, digest: string, what: string): void {
  const checked = new DigestChecker(digest);
  checked.update(data);
  checked.verify(what);
}

/** The digest of bytes that pass by, against the one that they should have. */
export class DigestChecker {
  readonly #wanted: string;
  readonly #hash: Hash;

  constructor(wanted: string) {
    if (!isDigest(wanted)) throw new DigestError(`unsupported digest ${JSON.stringify(wanted)}`);
    this.#wanted = wanted;
    this.#hash = createHash(wanted.slice(0, wanted.indexOf(':')));
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async *passing(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of source) {
      this.#hash.update(chunk);
      yield chunk;
    }
  }

  /** Throws a `DigestError`. Once, when everything has passed. */
  verify(what: string): void {
    const algorithm = this.#wanted.slice(0, this.#wanted.indexOf(':'));
    const found = `${algorithm}:${this.#hash.digest('hex')}`;
    if (found !== this.#wanted) throw new DigestError(`${what}: has digest ${found} instead of ${this.#wanted}`);
  }
}

/**
 * A layer together with all below it, bottom first.
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

/** The digest and size of bytes that pass by. */
export class DigestReader {
  readonly #hash = createHash('sha256');
  size = 0;

  async *passing(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of source) {
      this.#hash.update(chunk);
      this.size += chunk.byteLength;
      yield chunk;
    }
  }

  /** Once, when everything has passed. */
  digest(): string {
    return `sha256:${this.#hash.digest('hex')}`;
  }
}
