import { existsSync } from 'node:fs';
import { join } from 'node:path';

const CHECKOUT = join(import.meta.dirname, '../..');
/** It starts faster than the sources. */
const BUNDLE = join(CHECKOUT, 'dist/nodelet.mjs');

/** The program with its first arguments. */
export const NODELET: readonly [string, ...string[]] = existsSync(BUNDLE)
  ? [join(CHECKOUT, 'scripts/node'), BUNDLE]
  : [join(CHECKOUT, 'bin/nodelet')];

/** The busybox image that `nodelet run` makes on the machine. */
export const BUSYBOX = 'localhost/nodelet/busybox:1';
