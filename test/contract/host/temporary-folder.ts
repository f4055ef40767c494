import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A folder that is gone after the test; `tidy` runs just before. */
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

/** Why a test that needs the superuser cannot run here; `false` when it can. */
export const needsRoot: string | false = process.getuid?.() === 0 ? false : 'needs root';

/** Why mounts cannot be tried here; `false` when they can. A superuser in a container often lacks the capability. */
export const needsMounts: string | false = hasCapability(21) ? false : 'needs CAP_SYS_ADMIN';

function hasCapability(bit: number): boolean {
  const [, effective = '0'] = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${effective}`) >> BigInt(bit)) & 1n) === 1n;
}
