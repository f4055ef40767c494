import { abortable } from '../../base/abortable.ts';
import { goArchitecture } from '../../base/go/go-architecture.ts';
import { silentLog } from '../../base/log.ts';
import type { ProxyEnvironment } from '../../base/proxy-for.ts';
import { CriError } from '../../cri/cri-error.ts';
import { FolderTakenError } from '../../host/folder-claims.ts';
import { type HttpServer, NetworkError } from '../../host/network.ts';
import { createRegistryPuller } from '../../runtime/images/pull/registry-puller.ts';
import { openStorage, type Storage } from '../../runtime/open-storage.ts';
import { runtimePaths } from '../../runtime/settings/runtime-paths.ts';
import { type ClaimedFolders, claimRoot, serveStateSocket } from './claim-folders.ts';
import { DEFAULT_RUNTIME_CONFIG, ownerSocket, runtimeFolders } from './embedded-settings.ts';
import { imageClient } from './image-api.ts';
import type { ImageOperations } from './image-operations.ts';
import { storedImages } from './stored-images.ts';

export interface ImageFolders extends ClaimedFolders {
  /** The environment of the process, for its proxies. */
  readonly env: ProxyEnvironment;
  /** Used only if this process becomes the owner; `undefined`: the defaults. */
  readonly registryConfigDirs: readonly string[] | undefined;
}

/**
 * Runs operations on the images of these folders: through the runtime that owns them, or as their owner until the end of
 * `use`.
 */
export async function withImages<T>(
  folders: ImageFolders,
  use: (images: ImageOperations) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { fs } = folders.host;
  if (await isOwned(folders, signal)) return use(imagesOfOwner(folders));
  await fs.makeDirectory(folders.stateDir, 0o711);
  const opened = Promise.withResolvers<ImageOperations>();
  const owner = await claimSocket(folders, opened.promise, signal);
  if (owner === undefined) return use(imagesOfOwner(folders));
  let storage: Storage | undefined;
  let root: AsyncDisposable | undefined;
  try {
    root = await claimOwnRoot(folders, signal);
    storage = await openOwnStorage(folders);
    const images = imagesOfStorage(folders, storage);
    opened.resolve(images);
    return await use(images);
  } catch (error) {
    opened.reject(error);
    throw error;
  } finally {
    await abortable(owner.idle(), signal).catch(() => {}); // requests of other processes are answered first
    await owner.close();
    await storage?.close();
    await root?.[Symbol.asyncDispose]();
  }
}

/** Whether a process serves the socket. Waits for one that is still starting. */
async function isOwned(folders: ImageFolders, signal: AbortSignal): Promise<boolean> {
  const target = { socketPath: ownerSocket(folders) };
  try {
    const { body } = await folders.host.network.request({ target, method: 'GET', path: '/' }, signal);
    for await (const _ of body);
    return true;
  } catch (error) {
    if (error instanceof NetworkError && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED')) return false;
    throw error;
  }
}

/** Returns `undefined` if another process has claimed the socket first. */
async function claimSocket(
  folders: ImageFolders,
  images: Promise<ImageOperations>,
  signal: AbortSignal,
): Promise<HttpServer | undefined> {
  try {
    return await serveStateSocket(folders, 'image command', images, signal);
  } catch (error) {
    if (error instanceof FolderTakenError) return undefined;
    throw error;
  }
}

/** Rejects if an agent owns the root with a different state folder: its socket is there. */
async function claimOwnRoot(folders: ImageFolders, signal: AbortSignal): Promise<AsyncDisposable> {
  try {
    return await claimRoot(folders, 'image command', signal);
  } catch (error) {
    if (!(error instanceof FolderTakenError)) throw error;
    const message = `${error.message}; its --state is not ${folders.stateDir}`;
    throw new CriError('FailedPrecondition', message, { cause: error });
  }
}

/** The owner uses its own registry settings. */
function imagesOfOwner(folders: ImageFolders): ImageOperations {
  if (folders.registryConfigDirs === undefined) return imageClient(folders.host.network, ownerSocket(folders));
  const message = 'a runtime is running on these folders and uses its own --registry-config-dir';
  throw new CriError('FailedPrecondition', message);
}

function openOwnStorage({ host, ...folders }: ImageFolders): Promise<Storage> {
  const paths = runtimePaths(runtimeFolders(folders));
  const settings = { pinnedImages: [] };
  return openStorage({ ...host, log: silentLog, paths, settings, architecture: goArchitecture() });
}

function imagesOfStorage({ host, env, registryConfigDirs }: ImageFolders, storage: Storage): ImageOperations {
  const { ingest, exporter } = storage;
  const settings = { registryConfigDirs: registryConfigDirs ?? DEFAULT_RUNTIME_CONFIG.registryConfigDirs };
  const { network, fs, clock } = host;
  const architecture = goArchitecture();
  const puller = createRegistryPuller({ network, fs, clock, ingest, architecture, settings, env, log: silentLog });
  return storedImages({ storage, exporter, puller });
}
