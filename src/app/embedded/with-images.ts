import { silentLog } from '../../base/log.ts';
import type { Host } from '../../host/host.ts';
import { NetworkError } from '../../host/network.ts';
import { runtimePaths } from '../../runtime/runtime-paths.ts';
import { openStorage, type Storage } from '../../runtime/storage/open-storage.ts';
import { goArchitecture } from '../go-architecture.ts';
import { ownerSocket, runtimeFolders } from './embedded-settings.ts';
import { imageClient, serveImages } from './image-api.ts';
import type { ImageOperations } from './image-operations.ts';
import { storedImages } from './stored-images.ts';

export interface ImagePlaces {
  readonly host: Host;
  readonly rootDir: string;
  readonly stateDir: string;
}

/**
 * Does something with the images of these folders: through the runtime that owns them, or as their owner for the moment.
 */
export async function withImages<T>(
  places: ImagePlaces,
  use: (images: ImageOperations) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { network, fs } = places.host;
  const socketPath = ownerSocket(places);
  const client = imageClient(network, socketPath);
  if (await isOwned(client, signal)) return use(client);
  await fs.makeDirectory(places.stateDir, 0o711);
  const opened = Promise.withResolvers<ImageOperations>();
  const owner = await serveImages(network, socketPath, opened.promise);
  let storage: Storage | undefined;
  try {
    storage = await openOwn(places);
    const images = storedImages(storage);
    opened.resolve(images);
    return await use(images);
  } catch (error) {
    opened.reject(error);
    throw error;
  } finally {
    await owner.close(); // whoever came meanwhile is answered first
    await storage?.close();
  }
}

async function isOwned(client: ImageOperations, signal: AbortSignal): Promise<boolean> {
  try {
    await client.list({}, signal);
    return true;
  } catch (error) {
    if (error instanceof NetworkError && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED')) return false;
    throw error;
  }
}

function openOwn({ host, ...places }: ImagePlaces): Promise<Storage> {
  const paths = runtimePaths(runtimeFolders(places));
  const settings = { pinnedImages: [] };
  return openStorage({ ...host, log: silentLog, paths, settings, architecture: goArchitecture() });
}
