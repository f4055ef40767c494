import { goArchitecture } from '../../base/go/go-architecture.ts';
import type { Log } from '../../base/log.ts';
import type { ProxyEnvironment } from '../../base/proxy-for.ts';
import type { UnhandledErrors } from '../../base/unhandled-errors.ts';
import type { Cri } from '../../cri/services.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { FolderTakenError } from '../../host/folder-claims.ts';
import type { Host } from '../../host/host.ts';
import { releaseMemory } from '../../host/linux/process/release-memory.ts';
import { onQuiet } from '../../observability/on-quiet.ts';
import { type EmbeddedRuntime, openEmbeddedRuntime } from '../../runtime/embedded-runtime.ts';
import type { ImageLoader } from '../../runtime/images/image-loader.ts';
import type { RuntimeMetrics } from '../../runtime/metrics/runtime-metrics.ts';
import { NriSocketError } from '../../runtime/nri/nri.ts';
import { claimRoot, claimState } from './claim-folders.ts';
import { asStartupError, checkDiskSpace } from './disk-space.ts';
import { type EmbeddedRuntimeConfig, embeddedSettings } from './embedded-settings.ts';
import type { ImageOperations } from './image-operations.ts';
import { missingForRuntime, missingText } from './missing-programs.ts';
import { removePreviousState } from './previous-state.ts';
import { StartupError } from './startup-error.ts';
import { storedImages } from './stored-images.ts';

/** Exists if systemd is the machine's init; see sd_booted(3). */
const SYSTEMD_RUNS = '/run/systemd/system';

/** Users of other user namespaces may traverse the folder, and not list it. */
const TRAVERSABLE = 0o711;

export interface EmbeddedOptions extends EmbeddedRuntimeConfig {
  readonly host: Host;
  readonly version: string;
  readonly pid: number;
  /** The environment of the process, for its proxies. */
  readonly env: ProxyEnvironment;
  readonly log: Log;
  readonly unhandled: UnhandledErrors;
  /** Absent: nothing is measured. */
  readonly metrics?: RuntimeMetrics | undefined;
  /** Called for each image command that the start waits for. */
  onWaiting?(text: string): void;
  /** Called once the folders are claimed, before the runtime reads them. */
  prepare?(signal: AbortSignal): Promise<void>;
}

/** An embedded runtime that runs in this process. */
export interface RunningEmbedded {
  readonly cri: Cri;
  /** Imports image archives. */
  readonly loader: ImageLoader;
  /** Whether it holds no state of any pod. */
  isEmpty(): boolean;
  /** Subscribes to changes of pod networks. Returns the function that unsubscribes. */
  onNetworkChange(listener: () => void): () => void;
  /** Stops the runtime; containers keep running. */
  close(): Promise<void>;
}

/**
 * Claims the folders, waiting for image commands that use them, cleans up after a previous process and opens the runtime.
 * Rejects with a `StartupError` for the user.
 */
export async function startEmbedded(options: EmbeddedOptions, signal: AbortSignal): Promise<RunningEmbedded> {
  const { host, version, env, log, unhandled, metrics, stateDir } = options;
  const missing = missingText(await missingForRuntime(host.fs));
  if (missing !== undefined) throw new StartupError(missing);
  const disks = { ...options, fs: host.fs };
  await checkDiskSpace(disks);
  await makeStateFolder(stateDir, host.fs);
  const ready = Promise.withResolvers<ImageOperations>();
  const owner = await claim(options, ready.promise, signal);
  try {
    const mayLowerOomScore = mayRaiseLimits(await host.fs.readText('/proc/self/status'));
    const hasSystemd = (await host.fs.stat(SYSTEMD_RUNS)) !== undefined;
    const architecture = goArchitecture();
    const open = (config: EmbeddedRuntimeConfig, until: AbortSignal): Promise<EmbeddedRuntime> => {
      const settings = embeddedSettings(config, { mayLowerOomScore, hasSystemd });
      return openEmbeddedRuntime({ host, settings, log, unhandled, env, version, architecture, metrics }, until);
    };
    const openPrevious = (previousDir: string, until: AbortSignal): Promise<EmbeddedRuntime> =>
      open({ ...options, stateDir: previousDir, nriSocket: undefined }, until);
    await removePreviousState({ host, folders: options, open: openPrevious }, signal);
    await options.prepare?.(signal);
    const runtime = await open(options, signal);
    const { storage, puller } = runtime;
    ready.resolve(storedImages({ storage, puller, exporter: storage.exporter }));
    const life = new AbortController();
    onQuiet({ clock: host.clock, tidy: releaseMemory }, life.signal);
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
    throw await asStartupError(error, disks);
  }
}

/** linux/capability.h */
const CAP_SYS_RESOURCE = 24n;

/** Whether the process has CAP_SYS_RESOURCE, by the text of /proc/self/status; `false` without a `CapEff` line. */
export function mayRaiseLimits(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
}

/** Pods with user namespaces traverse the folder; versions without them created it for root only. */
export async function makeStateFolder(path: string, fs: FileSystem): Promise<void> {
  await fs.makeDirectory(path, TRAVERSABLE);
  const { mode = TRAVERSABLE } = (await fs.stat(path)) ?? {};
  if ((mode & TRAVERSABLE) !== TRAVERSABLE) await fs.changeMode(path, mode | TRAVERSABLE);
}

/** Claims both folders before they are read or written. */
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
