import { existsSync } from 'node:fs';
import { chmod, link, lstat, mkdir, readdir, rm, unlink } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { NetworkError, type SocketFile } from '../../network.ts';
import { withFolderLock } from '../fs/folder-lock.ts';
import { unlessMissing } from '../fs/unless-missing.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { asNetworkError } from './network-error.ts';
import { reportServerErrors } from './report-server-errors.ts';

/** A socket file of this process. */
export interface ClaimedSocketFile {
  /** Removes the file, unless another process has replaced it. */
  release(): Promise<void>;
}

const HIDDEN = /^\.s([0-9a-z]+)\.[0-9a-z]+$/;
let claims = 0;

/**
 * Makes `server` listen at `socketPath`. The socket is created in a folder that only this user can enter; when it has its
 * mode, link(2) gives it its name, which never replaces an existing file.
 */
export async function claimSocketFile(server: Server, { socketPath, mode }: SocketFile): Promise<ClaimedSocketFile> {
  const parent = dirname(socketPath);
  // Short: a socket's path has at most 107 bytes.
  const folder = join(parent, `.s${process.pid.toString(36)}.${(claims++).toString(36)}`);
  try {
    await removeLeftovers(parent);
    await rm(folder, { recursive: true, force: true }); // of a dead process with the same pid
    await mkdir(folder, { mode: 0o700 });
    const hidden = join(folder, 's');
    await listen(server, hidden);
    await chmod(hidden, mode);
    reportServerErrors(server, socketPath);
    const { ino } = await lstat(hidden);
    await linkOrReplaceStale(hidden, socketPath);
    const release = (): Promise<void> => withFolderLock(parent, () => removeIfStill(socketPath, ino));
    return { release: () => unlessMissing(release()) };
  } catch (error) {
    server.close();
    throw asNetworkError(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Removes the folders of processes that were killed while they claimed a socket. */
async function removeLeftovers(parent: string): Promise<void> {
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

async function linkOrReplaceStale(hidden: string, socketPath: string): Promise<void> {
  if (await tryLink(hidden, socketPath)) return;
  // Stale sockets are removed only under the lock, so that the removed socket is the one that was checked.
  await withFolderLock(dirname(socketPath), async () => {
    do await removeStale(socketPath);
    while (!(await tryLink(hidden, socketPath)));
  });
}

/** `false`: the path exists. */
async function tryLink(hidden: string, socketPath: string): Promise<boolean> {
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
  if (await isListening(socketPath)) throw new NetworkError('EADDRINUSE', `another process listens on ${socketPath}`);
  await unlessMissing(unlink(socketPath));
}

/** A stale socket refuses connections. */
function isListening(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: socketPath });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error) => {
      if (['ECONNREFUSED', 'ENOENT'].includes(errnoCode(error) ?? '')) resolve(false);
      else if (errnoCode(error) === 'EAGAIN')
        resolve(true); // its backlog is full
      else reject(error);
    });
  });
}

async function removeIfStill(path: string, inode: number): Promise<void> {
  if ((await unlessMissing(lstat(path)))?.ino === inode) await unlessMissing(unlink(path));
}
