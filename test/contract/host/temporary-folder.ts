import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A folder that is removed after the test; `tidy` runs just before. */
export async function temporaryFolder(
  t: TestContext,
  tidy?: (folder: string) => Promise<void>,
  place = tmpdir(),
): Promise<string> {
  const folder = await mkdtemp(join(place, 'nodelet-contract-'));
  t.after(async () => {
    await tidy?.(folder);
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

/** The reason to skip a test that needs root, or `false`. */
export const needsRoot: string | false = process.getuid?.() === 0 ? false : 'needs root';

/** The reason to skip a test that mounts, or `false`. Root in a container often has no CAP_SYS_ADMIN. */
export const needsMounts: string | false = hasCapability(21) ? false : 'needs CAP_SYS_ADMIN';

function hasCapability(bit: number): boolean {
  const [, effective = '0'] = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${effective}`) >> BigInt(bit)) & 1n) === 1n;
}
