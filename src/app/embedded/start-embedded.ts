import { goArchitecture } from '../../base/go/go-architecture.ts';
import type { Log } from '../../base/log.ts';
import type { ProxyEnvironment } from '../../base/proxy-for.ts';
import type { Cri } from '../../cri/services.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { FolderTakenError } from '../../host/folder-claims.ts';
import type { Host } from '../../host/host.ts';
import { giveBackMemory } from '../../host/linux/process/give-back-memory.ts';
import { onQuiet } from '../../observability/when-quiet.ts';
import { type EmbeddedRuntime, openEmbeddedRuntime } from '../../runtime/embedded-runtime.ts';
import type { ImageLoader } from '../../runtime/images/image-loader.ts';
import { NriSocketError } from '../../runtime/nri/nri.ts';
import { claimRoot, claimState } from './claim-folders.ts';
import { checkDiskSpace, asStartError } from './disk-space.ts';
import { removePreviousState } from './previous-state.ts';
import { type EmbeddedRuntimeConfig, embeddedSettings } from './embedded-settings.ts';
import type { ImageOperations } from './image-operations.ts';
import { mayRaiseLimits } from './may-raise-limits.ts';
import { missingForRuntime, missingText } from './missing-programs.ts';
import { StartupError } from './startup-error.ts';
import { storedImages } from './stored-images.ts';

const PASSABLE = 0o711;

export interface EmbeddedOptions extends EmbeddedRuntimeConfig {
  readonly host: Host;
  readonly version: string;
  readonly pid: number;
  /** Of the process: proxies. */
  readonly env: ProxyEnvironment;
  readonly log: Log;
  /** Hears of each image command that the start waits for. */
  onWaiting?(text: string): void;
  /** Done when the folders are ours, before the runtime looks at them. */
  prepare?(signal: AbortSignal): Promise<void>;
}

/** A runtime at work in this process. */
export interface RunningEmbedded {
  readonly cri: Cri;
  /** Takes archives in. */
  readonly loader: ImageLoader;
  /** Whether it holds nothing of a pod. */
  isEmpty(): boolean;
  /** Calls back when networks of pods have come or gone, or may have. Returns the function that ends it. */
  onNetworkChange(listener: () => void): () => void;
  /** Ends it; containers go on. */
  close(): Promise<void>;
}

/**
 * Claims the folders, waiting for image commands that use them, puts right what an earlier life left, and is ready for calls then. Rejects with a
 * `RuntimeStartError` that tells the user why there is no runtime.
 */
export async function startEmbedded(options: EmbeddedOptions, signal: AbortSignal): Promise<RunningEmbedded> {
  const { host, version, env, log, stateDir } = options;
  const missing = missingText(await missingForRuntime(host.fs));
  if (missing !== undefined) throw new StartupError(missing);
  const disks = { ...options, fs: host.fs };
  await checkDiskSpace(disks);
  await makeStateFolder(stateDir, host.fs);
  const ready = Promise.withResolvers<ImageOperations>();
  const owner = await claim(options, ready.promise, signal);
  try {
    const mayLowerOomScore = mayRaiseLimits(await host.fs.readText('/proc/self/status'));
    const architecture = goArchitecture();
    const open = (choices: EmbeddedRuntimeConfig, until: AbortSignal): Promise<EmbeddedRuntime> => {
      const settings = embeddedSettings(choices, { mayLowerOomScore });
      return openEmbeddedRuntime({ host, settings, log, env, version, architecture }, until);
    };
    const openEarlier = (earlierDir: string, until: AbortSignal): Promise<EmbeddedRuntime> =>
      open({ ...options, stateDir: earlierDir, nriSocket: undefined }, until);
    await removePreviousState({ host, places: options, open: openEarlier }, signal);
    await options.prepare?.(signal);
    const runtime = await open(options, signal);
    const { storage, puller } = runtime;
    ready.resolve(storedImages({ storage, puller, exporter: storage.exporter }));
    const life = new AbortController();
    onQuiet({ clock: host.clock, tidy: giveBackMemory }, life.signal);
    return {
      cri: runtime.cri,
      loader: runtime.storage.loader,
      isEmpty: () => runtime.isEmpty(),
      onNetworkChange: (listener) => runtime.onNetworkChange(listener),
      async close() {
        life.abort();
        try {
          await runtime.close();
        } finally {
          await owner.close();
        }
      },
    };
  } catch (error) {
    ready.reject(error);
    await owner.close();
    if (error instanceof NriSocketError) throw new StartupError(error.message, { cause: error });
    throw await asStartError(error, disks);
  }
}

/** Pods with their own users pass through it; versions that had none left a folder in which only root does. */
export async function makeStateFolder(path: string, fs: FileSystem): Promise<void> {
  await fs.makeDirectory(path, PASSABLE);
  const { mode = PASSABLE } = (await fs.stat(path)) ?? {};
  if ((mode & PASSABLE) !== PASSABLE) await fs.changeMode(path, mode | PASSABLE);
}

/** Both folders, before they are touched. */
async function claim(
  options: EmbeddedOptions,
  images: Promise<ImageOperations>,
  signal: AbortSignal,
): Promise<{ close(): Promise<void> }> {
  try {
    const server = await claimState(options, images, signal);
    try {
      const root = await claimRoot(options, 'agent', signal);
      return {
        async close() {
          await root[Symbol.asyncDispose]();
          await server.close();
        },
      };
    } catch (error) {
      await server.close();
      throw error;
    }
  } catch (error) {
    if (!(error instanceof FolderTakenError)) throw error;
    const flag = error.folder === options.rootDir ? '--root' : '--state';
    throw new StartupError(`${flag}: ${error.message}`, { cause: error });
  }
}
