import { existsSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Pod addresses of a test that no other test process on this machine uses. */
export interface ClaimedSubnet {
  /** A /24 of 10.64.0.0/10. */
  readonly v4: string;
  /** A /64. */
  readonly v6: string;
}

const COUNT = 64 * 256;
const CLAIM = /^nodelet-subnet-(\d+)$/;

const claimed = new Set<string>();

/** Two networks with the same addresses would receive each other's packets. A claim lasts as long as this process. */
export function claimSubnet(): ClaimedSubnet {
  if (claimed.size === 0) process.once('exit', giveAllBack);
  for (let index = process.pid; index < process.pid + COUNT; index++) {
    const number = index % COUNT;
    const prefix = `10.${64 + (number >> 8)}.${number & 255}.`;
    if (isInUse(prefix) || !claim(join(tmpdir(), `nodelet-subnet-${number}`))) continue;
    return { v4: `${prefix}0/24`, v6: `fd00:${(0x4000 + number).toString(16)}::/64` };
  }
  throw new Error('every subnet for tests is taken');
}

/** Releases the claims of processes that are gone. Their resources must have been removed before. */
export function dropDeadClaims(): void {
  for (const name of readdirSync(tmpdir()).filter((each) => CLAIM.test(each))) {
    const path = join(tmpdir(), name);
    if (!existsSync(`/proc/${ownerOf(path)}`)) giveBack(path);
  }
}

/** Creating a symlink is atomic: only one process succeeds. */
function claim(path: string): boolean {
  try {
    symlinkSync(String(process.pid), path);
  } catch {
    return false;
  }
  claimed.add(path);
  return true;
}

/** The id of the process that made the claim. */
export function ownerOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return 'self'; // released meanwhile
  }
}

function giveAllBack(): void {
  for (const path of claimed) giveBack(path);
}

function giveBack(path: string): void {
  rmSync(path, { force: true });
}

/** A killed run may have left its bridge. */
function isInUse(prefix: string): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.some(({ address }) => address.startsWith(prefix));
}
