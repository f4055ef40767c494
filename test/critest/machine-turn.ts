import { existsSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const LOOK_AGAIN_MS = 200;

/**
 * Waits until no other process on this machine has a turn of that name. A link is made whole or not at all, and by one of
 * those who try; that of a process that is gone is nobody's.
 */
export async function machineTurn(name: string): Promise<Disposable> {
  const path = join(tmpdir(), `nodelet-turn-${name}`);
  while (!take(path)) await delay(LOOK_AGAIN_MS);
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

function take(path: string): boolean {
  try {
    symlinkSync(String(process.pid), path);
    return true;
  } catch {
    if (!isAlive(path)) rmSync(path, { force: true });
    return false;
  }
}

function isAlive(path: string): boolean {
  try {
    return existsSync(`/proc/${readlinkSync(path)}`);
  } catch {
    return true; // given back meanwhile
  }
}
