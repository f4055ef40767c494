import { parseEndpoint } from '../../cri/endpoint.ts';
import type { FileStat, FileSystem } from '../../host/file-system.ts';
import { StartupError } from './startup-error.ts';

const ROOT = 0;
const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;

/** Returns what is wrong with a path that only root may change, and the command that fixes it; `undefined`: nothing. */
export function ownerError(path: string, { uid, gid, mode }: Pick<FileStat, 'uid' | 'gid' | 'mode'>) {
  if (uid !== ROOT) return `${path} is owned by user ${uid}, not by root; fix it with: chown root ${path}`;
  if ((mode & OTHERS_WRITE) !== 0) {
    return `${path} is writable by all users (mode ${octal(mode)}); fix it with: chmod o-w ${path}`;
  }
  if ((mode & GROUP_WRITE) !== 0 && gid !== ROOT) {
    return `${path} is writable by group ${gid} (mode ${octal(mode)}); fix it with: chmod g-w ${path}`;
  }
  return undefined;
}

/**
 * Rejects with a `StartupError` if users other than root could replace the files of this folder: sockets, records, images and
 * volumes.
 */
export async function requireOwnFolder(fs: Pick<FileSystem, 'stat'>, folder: string): Promise<void> {
  const found = await fs.stat(folder);
  const error = found && ownerError(folder, found);
  if (error !== undefined) throw new StartupError(`cannot use ${folder}: ${error}`);
}

/**
 * Returns what is wrong with the socket of a runtime: a user that can replace or write it runs programs as root. A group may have
 * access, as containerd's `grpc.gid` allows.
 */
export async function endpointError(fs: Pick<FileSystem, 'stat'>, endpoint: string): Promise<string | undefined> {
  const path = parseEndpoint(endpoint);
  const found = await fs.stat(path);
  if (found === undefined) return undefined; // the connection fails with a better error
  return ownerError(path, { ...found, mode: found.mode & ~GROUP_WRITE });
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
