/**
 * Replaces koffi's search for its native part in the bundle: the part is inside the bundle, and dlopen(3) needs a file.
 * tools/dist-embed-koffi.ts embeds this file.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorText } from '../src/base/error-text.ts';

/** Several, because one of them may be mounted with `noexec`. */
const FOLDERS = ['/run', tmpdir(), '/var/tmp', '/var/lib'];

/** Loads it through a file in a new private directory, which is removed before this returns. */
export function loadAddon(bytes: Uint8Array): unknown {
  const failures: unknown[] = [];
  for (const parent of FOLDERS) {
    try {
      return loadThrough(parent, bytes);
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `cannot load the native part of koffi: ${failures.map(errorText).join('; ')}`);
}

function loadThrough(parent: string, bytes: Uint8Array): unknown {
  const folder = mkdtempSync(join(parent, 'nodelet-addon-'));
  try {
    const path = join(folder, 'koffi.node');
    writeFileSync(path, bytes, { mode: 0o500 });
    const addon: { exports: unknown } = { exports: {} };
    process.dlopen(addon, path);
    return addon.exports;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
