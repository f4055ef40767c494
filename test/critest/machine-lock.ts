import { existsSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 200;

/**
 * Waits for a lock of this name among all processes on the machine. Creating a symbolic link is atomic and succeeds for one
 * process. The link of a process that has exited is stale and is removed.
 */
export async function acquireMachineLock(name: string): Promise<Disposable> {
  const path = join(tmpdir(), `nodelet-turn-${name}`);
  while (!tryAcquire(path)) await delay(POLL_MS);
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

function tryAcquire(path: string): boolean {
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
    return true; // released in the meantime
  }
}
