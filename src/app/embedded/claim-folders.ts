import { collectText } from '../../base/byte-chunks.ts';
import { type FolderHolder, FolderTakenError, type FolderUse, pidText } from '../../host/folder-claims.ts';
import type { Host } from '../../host/host.ts';
import { type HttpServer, NetworkError } from '../../host/network.ts';
import { ownerSocket, runtimeFolders } from './embedded-settings.ts';
import { OWNER_PATH, serveImages } from './image-api.ts';
import type { ImageOperations } from './image-operations.ts';
import { requireOwnFolder } from './path-owner.ts';

const RETRY_MS = 100;
/** How long the process behind the socket may take to identify itself. */
const OWNER_TIMEOUT_MS = 2_000;

/** The folders of a runtime, and the process that claims them. */
export interface ClaimedFolders {
  readonly host: Host;
  readonly rootDir: string;
  readonly stateDir: string;
  readonly pid: number;
  /** Called for each image command that the claim waits for. */
  onWaiting?(text: string): void;
}

/**
 * Claims the state folder by serving its socket, which also serves its images to other processes. Waits while an image
 * command holds it; rejects with a `FolderTakenError` if an agent does.
 */
export async function claimState(
  folders: ClaimedFolders,
  images: Promise<ImageOperations>,
  signal: AbortSignal,
): Promise<HttpServer> {
  await requireOwnFolder(folders.host.fs, folders.stateDir);
  return waitForImageCommand(folders, () => serveStateSocket(folders, 'agent', images, signal), signal);
}

/**
 * Locks the root folder: its records and images belong to one process, whatever its state folder is. Waits while an image
 * command holds it; rejects with a `FolderTakenError` if an agent does. Lock order: the caller holds the state folder
 * already.
 */
export async function claimRoot(
  folders: ClaimedFolders,
  use: FolderUse,
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  const { host, rootDir } = folders;
  const folder = runtimeFolders(folders).rootDir;
  await host.fs.makeDirectory(folder, 0o711);
  for (const each of [rootDir, folder]) await requireOwnFolder(host.fs, each);
  const claim = (): Promise<AsyncDisposable> =>
    host.folderClaims.claim(folder, use).catch((error: unknown) => {
      throw error instanceof FolderTakenError ? new FolderTakenError(rootDir, error.holder, { cause: error }) : error;
    });
  return waitForImageCommand(folders, claim, signal);
}

async function waitForImageCommand<T>(
  { host, onWaiting }: Pick<ClaimedFolders, 'host' | 'onWaiting'>,
  claim: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let reported = '';
  for (;;) {
    try {
      return await claim();
    } catch (error) {
      if (!(error instanceof FolderTakenError && error.holder.use === 'image command')) throw error;
      const text = `waiting for an image command${pidText(error.holder)} that uses ${error.folder}`;
      if (text !== reported) onWaiting?.(text);
      reported = text;
    }
    await host.clock.sleep(RETRY_MS, signal);
  }
}

/** Rejects with a `FolderTakenError` while another process serves the socket. */
export async function serveStateSocket(
  folders: ClaimedFolders,
  use: FolderUse,
  images: Promise<ImageOperations>,
  signal: AbortSignal,
): Promise<HttpServer> {
  const { host, stateDir, pid } = folders;
  for (;;) {
    try {
      return await serveImages(host, ownerSocket(folders), images, { pid, use });
    } catch (error) {
      if (!(error instanceof NetworkError && error.code === 'EADDRINUSE')) throw error;
      const holder = await readSocketHolder(folders, signal);
      if (holder !== undefined) throw new FolderTakenError(stateDir, holder, { cause: error });
    }
    signal.throwIfAborted();
  }
}

/** Returns `undefined` if the process has exited meanwhile. A process that does not answer counts as an agent. */
async function readSocketHolder(folders: ClaimedFolders, signal: AbortSignal): Promise<FolderHolder | undefined> {
  const { network, clock } = folders.host;
  const target = { socketPath: ownerSocket(folders) };
  const until = AbortSignal.any([signal, clock.deadline(OWNER_TIMEOUT_MS)]);
  try {
    const { body } = await network.request({ target, method: 'GET', path: OWNER_PATH }, until);
    return decodeFolderHolder(await collectText(body));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NetworkError && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED')) return undefined;
    return { pid: undefined, use: 'agent' };
  }
}

function decodeFolderHolder(text: string): FolderHolder {
  const { pid, use } = JSON.parse(text) as Partial<Record<keyof FolderHolder, unknown>>;
  return {
    pid: typeof pid === 'number' ? pid : undefined,
    use: use === 'image command' ? use : 'agent',
  };
}
