import { existsSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Addresses for the pods of a test, which no other process of tests on this machine has. */
export interface ClaimedSubnet {
  /** A /24 of 10.64.0.0/10. */
  readonly v4: string;
  /** A /64. */
  readonly v6: string;
}

const COUNT = 64 * 256;
const CLAIM = /^nodelet-subnet-(\d+)$/;

const claimed = new Set<string>();

/** Two networks with the same addresses take each other's packets. A claim lasts as long as this process. */
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

/** Takes the claims of processes away that are gone. What these left must be gone before. */
export function dropDeadClaims(): void {
  for (const name of readdirSync(tmpdir()).filter((each) => CLAIM.test(each))) {
    const path = join(tmpdir(), name);
    if (!existsSync(`/proc/${ownerOf(path)}`)) giveBack(path);
  }
}

/** A link is made whole or not at all, and by one of those who try. */
function claim(path: string): boolean {
  try {
    symlinkSync(String(process.pid), path);
  } catch {
    return false;
  }
  claimed.add(path);
  return true;
}

/** The number of the process that has made the claim. */
export function ownerOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return 'self'; // given back meanwhile
  }
}

function giveAllBack(): void {
  for (const path of claimed) giveBack(path);
}

function giveBack(path: string): void {
  rmSync(path, { force: true });
}

/** A run that was killed may have left its bridge. */
function isInUse(prefix: string): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.some(({ address }) => address.startsWith(prefix));
}
