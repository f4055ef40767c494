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
  /** Of the process: proxies. */
  readonly env: ProxyEnvironment;
  /** Only for who becomes the owner; absent: the usual ones. */
  readonly registryConfigDirs: readonly string[] | undefined;
}

/**
 * Does something with the images of these folders: through the runtime that owns them, or as their owner for the moment.
 */
export async function withImages<T>(
  places: ImageFolders,
  use: (images: ImageOperations) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { fs } = places.host;
  if (await isOwned(places, signal)) return use(imagesOfOwner(places));
  await fs.makeDirectory(places.stateDir, 0o711);
  const opened = Promise.withResolvers<ImageOperations>();
  const owner = await claimSocket(places, opened.promise, signal);
  if (owner === undefined) return use(imagesOfOwner(places));
  let storage: Storage | undefined;
  let root: AsyncDisposable | undefined;
  try {
    root = await claimOwnRoot(places, signal);
    storage = await openOwnStorage(places);
    const images = imagesOfStorage(places, storage);
    opened.resolve(images);
    return await use(images);
  } catch (error) {
    opened.reject(error);
    throw error;
  } finally {
    await abortable(owner.idle(), signal).catch(() => {}); // whoever came meanwhile is answered first
    await owner.close();
    await storage?.close();
    await root?.[Symbol.asyncDispose]();
  }
}

/** Whether somebody answers. Whoever is still at its start is waited for. */
async function isOwned(places: ImageFolders, signal: AbortSignal): Promise<boolean> {
  const target = { socketPath: ownerSocket(places) };
  try {
    const { body } = await places.host.network.request({ target, method: 'GET', path: '/' }, signal);
    for await (const _ of body);
    return true;
  } catch (error) {
    if (error instanceof NetworkError && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED')) return false;
    throw error;
  }
}

/** `undefined`: somebody else was quicker. */
async function claimSocket(
  places: ImageFolders,
  images: Promise<ImageOperations>,
  signal: AbortSignal,
): Promise<HttpServer | undefined> {
  try {
    return await serveStateSocket(places, 'image command', images, signal);
  } catch (error) {
    if (error instanceof FolderTakenError) return undefined;
    throw error;
  }
}

/** An agent that has the root with another state folder has its socket there. */
async function claimOwnRoot(places: ImageFolders, signal: AbortSignal): Promise<AsyncDisposable> {
  try {
    return await claimRoot(places, 'image command', signal);
  } catch (error) {
    if (!(error instanceof FolderTakenError)) throw error;
    const message = `${error.message}; its --state is not ${places.stateDir}`;
    throw new CriError('FailedPrecondition', message, { cause: error });
  }
}

/** Whoever owns them has its own settings. */
function imagesOfOwner(places: ImageFolders): ImageOperations {
  if (places.registryConfigDirs === undefined) return imageClient(places.host.network, ownerSocket(places));
  const message = 'a runtime is at work on these folders, and goes by its own --registry-config-dir';
  throw new CriError('FailedPrecondition', message);
}

function openOwnStorage({ host, ...places }: ImageFolders): Promise<Storage> {
  const paths = runtimePaths(runtimeFolders(places));
  const settings = { pinnedImages: [] };
  return openStorage({ ...host, log: silentLog, paths, settings, architecture: goArchitecture() });
}

function imagesOfStorage({ host, env, registryConfigDirs }: ImageFolders, storage: Storage): ImageOperations {
  const { ingest, exporter } = storage;
  const settings = { registryConfigDirs: registryConfigDirs ?? DEFAULT_RUNTIME_CONFIG.registryConfigDirs };
  const machine = { architecture: goArchitecture(), settings, env, log: silentLog };
  return storedImages({ storage, exporter, puller: createRegistryPuller({ ...host, ...machine, ingest }) });
}
