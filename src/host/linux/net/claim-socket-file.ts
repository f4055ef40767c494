import { existsSync } from 'node:fs';
import { chmod, link, lstat, mkdir, readdir, rm, unlink } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { NetworkError, type SocketFile } from '../../network.ts';
import { withFolderLock } from '../fs/folder-lock.ts';
import { unlessMissing } from '../fs/unless-missing.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { asNetworkError } from './network-error.ts';

/** A socket file that is ours. */
export interface ClaimedSocketFile {
  /** Removes the file, unless another process has put its own there meanwhile. */
  release(): Promise<void>;
}

const HIDDEN = /^\.s([0-9a-z]+)\.[0-9a-z]+$/;
let claims = 0;

/**
 * Makes `server` listen at `socketPath`. It listens in a folder that only we can enter until the file has its mode, and
 * the finished socket gets its name by link(2), which never replaces one that is there.
 */
export async function claimSocketFile(server: Server, { socketPath, mode }: SocketFile): Promise<ClaimedSocketFile> {
  const parent = dirname(socketPath);
  // As short as can be: a socket's path has at most 107 bytes.
  const folder = join(parent, `.s${process.pid.toString(36)}.${(claims++).toString(36)}`);
  try {
    await removeOfTheDead(parent);
    await rm(folder, { recursive: true, force: true }); // of one that is dead and had our number
    await mkdir(folder, { mode: 0o700 });
    const hidden = join(folder, 's');
    await listen(server, hidden);
    await chmod(hidden, mode);
    const { ino } = await lstat(hidden);
    await giveName(hidden, socketPath);
    const release = (): Promise<void> => withFolderLock(parent, () => removeIfStill(socketPath, ino));
    return { release: () => unlessMissing(release()) };
  } catch (error) {
    server.close();
    throw asNetworkError(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Folders of processes that were killed while they claimed a socket. */
async function removeOfTheDead(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number.parseInt(HIDDEN.exec(name)?.[1] ?? '', 36);
    if (!Number.isNaN(pid) && !existsSync(`/proc/${pid}`))
      await rm(join(parent, name), { recursive: true, force: true });
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function giveName(hidden: string, socketPath: string): Promise<void> {
  if (await linked(hidden, socketPath)) return;
  // Whoever removes the name holds the lock: what refused is still what is there when it goes.
  await withFolderLock(dirname(socketPath), async () => {
    do await removeStale(socketPath);
    while (!(await linked(hidden, socketPath)));
  });
}

/** `false`: the name is taken. */
async function linked(hidden: string, socketPath: string): Promise<boolean> {
  try {
    await link(hidden, socketPath);
    return true;
  } catch (error) {
    if (errnoCode(error) !== 'EEXIST') throw error;
    return false;
  }
}

async function removeStale(socketPath: string): Promise<void> {
  const found = await unlessMissing(lstat(socketPath));
  if (found === undefined) return;
  if (!found.isSocket()) throw new NetworkError('EADDRINUSE', `${socketPath} exists and is not a socket`);
  if (await answers(socketPath)) throw new NetworkError('EADDRINUSE', `another process listens on ${socketPath}`);
  await unlessMissing(unlink(socketPath));
}

/** Whether somebody listens there; a dead process's socket refuses. */
function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: socketPath });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error) => {
      if (['ECONNREFUSED', 'ENOENT'].includes(errnoCode(error) ?? '')) resolve(false);
      else if (errnoCode(error) === 'EAGAIN')
        resolve(true); // its queue is full: it lives
      else reject(error);
    });
  });
}

async function removeIfStill(path: string, inode: number): Promise<void> {
  if ((await unlessMissing(lstat(path)))?.ino === inode) await unlessMissing(unlink(path));
}
