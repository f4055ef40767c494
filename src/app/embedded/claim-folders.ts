import { collectText } from '../../base/byte-chunks.ts';
import { type FolderHolder, FolderTakenError, type FolderUse, pidText } from '../../host/folder-claims.ts';
import type { Host } from '../../host/host.ts';
import { type HttpServer, NetworkError } from '../../host/network.ts';
import { ownerSocket, runtimeFolders } from './embedded-settings.ts';
import { OWNER_PATH, serveImages } from './image-api.ts';
import type { ImageOperations } from './image-operations.ts';

const LOOK_AGAIN_MS = 100;
/** How long the process behind the socket may take to say what it is. */
const ANSWER_MS = 2_000;

/** The folders of a runtime, and the process that is to have them. */
export interface ClaimedFolders {
  readonly host: Host;
  readonly rootDir: string;
  readonly stateDir: string;
  readonly pid: number;
  /** Hears of each image command that is waited for. */
  onWaiting?(text: string): void;
}

/**
 * Serves the socket of the state folder, which keeps others away from it and gives them its images. Waits while an image
 * command has it; rejects with a `FolderTakenError` while an agent has.
 */
export function claimState(
  places: ClaimedFolders,
  images: Promise<ImageOperations>,
  signal: AbortSignal,
): Promise<HttpServer> {
  return waitForImageCommand(places, () => serveStateSocket(places, 'agent', images, signal), signal);
}

/**
 * Locks the root folder: its records and images belong to one process, whatever its state folder is. Waits while an image
 * command has it; rejects with a `FolderTakenError` while an agent has. The caller has the state folder already: all take
 * the two in this order.
 */
export async function claimRoot(places: ClaimedFolders, use: FolderUse, signal: AbortSignal): Promise<AsyncDisposable> {
  const { host, rootDir } = places;
  const folder = runtimeFolders(places).rootDir;
  await host.fs.makeDirectory(folder, 0o711);
  const claim = (): Promise<AsyncDisposable> =>
    host.folderClaims.claim(folder, use).catch((error: unknown) => {
      throw error instanceof FolderTakenError ? new FolderTakenError(rootDir, error.holder, { cause: error }) : error;
    });
  return waitForImageCommand(places, claim, signal);
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
    await host.clock.sleep(LOOK_AGAIN_MS, signal);
  }
}

/** Rejects with a `FolderTakenError` while another process serves the socket. */
export async function serveStateSocket(
  places: ClaimedFolders,
  use: FolderUse,
  images: Promise<ImageOperations>,
  signal: AbortSignal,
): Promise<HttpServer> {
  const { host, stateDir, pid } = places;
  for (;;) {
    try {
      return await serveImages(host, ownerSocket(places), images, { pid, use });
    } catch (error) {
      if (!(error instanceof NetworkError && error.code === 'EADDRINUSE')) throw error;
      const holder = await readSocketHolder(places, signal);
      if (holder !== undefined) throw new FolderTakenError(stateDir, holder, { cause: error });
    }
    signal.throwIfAborted();
  }
}

/** `undefined`: it has ended meanwhile. A process that does not answer is taken for an agent. */
async function readSocketHolder(places: ClaimedFolders, signal: AbortSignal): Promise<FolderHolder | undefined> {
  const { network, clock } = places.host;
  const target = { socketPath: ownerSocket(places) };
  const until = AbortSignal.any([signal, clock.deadline(ANSWER_MS)]);
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
