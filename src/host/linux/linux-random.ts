import { randomBytes } from 'node:crypto';
import type { Random } from '../random.ts';

/** The kernel's randomness for bytes, a fast generator for jitter. */
export const linuxRandom: Random = {
  fraction: () => Math.random(),
  bytes: (length) => new Uint8Array(randomBytes(length)),
};
