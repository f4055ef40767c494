import type { Log } from '../../base/log.ts';
import type { ProxyEnvironment } from '../../base/proxy-for.ts';
import { errorText } from '../../base/error-text.ts';
import type { ConnectOptions, CriConnection } from '../../cri/client.ts';
import { connectInProcess } from '../../cri/in-process.ts';
import type { Cri } from '../../cri/services.ts';
import { FileSystemError, isOutOfSpace } from '../../host/file-system.ts';
import type { Host } from '../../host/host.ts';
import { defaultBridgeConfig } from '../../runtime/network/default-bridge.ts';
import { ensureMasquerade, removeMasquerade } from '../../runtime/network/masquerade.ts';
import { runtimePaths } from '../../runtime/settings/runtime-paths.ts';
import { SpaceError } from '../../runtime/storage/space-guard.ts';
import { BUSYBOX_IMAGE } from '../images/local-images.ts';
import { bridgeName } from '../pod-network/bridge-name.ts';
import {
  emptyChains,
  hostPortChainsExist,
  removeNetwork,
  removeStaleMasquerade,
  removeUnusedBridge,
} from '../pod-network/network-cleanup.ts';
import { runtimeFolders } from './embedded-settings.ts';
import { ensureBusybox } from './ensure-busybox.ts';
import { checkLocalPreconditions } from './local-preconditions.ts';
import { decodeNetworkRecord, type NetworkRecord, nextNetworkRecord } from './network-record.ts';
import { StartupError } from './startup-error.ts';
import { type RunningEmbedded, startEmbedded } from './start-embedded.ts';

const CLEANUP_MS = 30_000;
const CNI_BIN_DIRS = ['/usr/lib/cni', '/opt/cni/bin'];

export interface LocalRuntimeOptions {
  readonly host: Host;
  /** Images live below it, and stay for the next run. */
  readonly rootDir: string;
  /** Sockets and mounts live below it. */
  readonly stateDir: string;
  /** `10.88.0.0/16` */
  readonly podCidr: string;
  readonly registryConfigDirs: readonly string[];
  readonly version: string;
  readonly pid: number;
  /** Of the process: proxies. */
  readonly env: ProxyEnvironment;
  readonly log: Log;
  /** Hears of each image command that the start waits for. */
  onWaiting?(text: string): void;
}

/** The runtime of `nodelet run`: embedded, with a bridge network of its own. */
export interface LocalRuntime {
  connect(options: ConnectOptions): CriConnection;
  /** The images that it is to have. */
  prepare(cri: Cri, signal: AbortSignal): Promise<void>;
  /** Whether it holds nothing of a pod, not even of one that nobody waits for any more. */
  isEmpty(): Promise<boolean>;
  /**
   * Ends it and takes away all that it left but its images. While there are still pods, they and their network stay as
   * they are, and the next start finds them. Whether nothing is left.
   */
  stop(): Promise<boolean>;
}

interface Parts extends LocalRuntimeOptions {
  readonly bridge: string;
  readonly networkRecord: string;
  readonly cniConfDir: string;
}

/** Rejects with a `RuntimeStartError` that tells the user why there is no runtime. */
export async function startLocalRuntime(options: LocalRuntimeOptions, signal: AbortSignal): Promise<LocalRuntime> {
  const folders = runtimeFolders(options);
  const parts: Parts = {
    ...options,
    bridge: bridgeName(options.rootDir),
    networkRecord: `${folders.rootDir}/network.json`,
    cniConfDir: `${folders.stateDir}/cni`,
  };
  const { host } = options;
  await checkLocalPreconditions({ ...host, ...parts });
  const prepared = Promise.withResolvers<NetworkRecord>();
  const choices = {
    cniBinDirs: CNI_BIN_DIRS,
    handlers: new Map(),
    nriSocket: undefined,
    pinnedImages: [BUSYBOX_IMAGE],
  };
  let isOurs = false;
  const prepare = async (): Promise<void> => {
    isOurs = true; // the folders are claimed
    prepared.resolve(await prepareNetwork(parts, signal));
  };
  const runtime = await startEmbedded({ ...parts, ...choices, prepare }, signal).catch(async (error: unknown) => {
    if (isOurs) await cleanUpFailedStart(parts);
    throw error;
  });
  const record = await prepared.promise;
  return {
    connect: (given) => connectInProcess(runtime.cri, given),
    prepare: (cri, until) => prepareImages(parts, runtime, cri, until),
    isEmpty: async () => runtime.isEmpty(),
    stop: () => stopRuntime(parts, runtime, record),
  };
}

/** Without space for the image, what is there already goes on. */
async function prepareImages(
  { host, rootDir, log }: Parts,
  runtime: RunningEmbedded,
  cri: Cri,
  signal: AbortSignal,
): Promise<void> {
  try {
    await ensureBusybox({ ...host, cri, loader: runtime.loader }, signal);
  } catch (error) {
    const isFull = error instanceof SpaceError || (error instanceof FileSystemError && isOutOfSpace(error));
    if (!isFull) throw error;
    if (runtime.isEmpty())
      throw new StartupError(`cannot load image ${BUSYBOX_IMAGE}: ${errorText(error)}`, { cause: error });
    log.warn('the disk is full: the local image is not loaded', { image: BUSYBOX_IMAGE, rootDir, error });
  }
}

async function prepareNetwork(parts: Parts, signal: AbortSignal): Promise<NetworkRecord> {
  const { host, bridge, podCidr, cniConfDir, networkRecord } = parts;
  const { fs, processes } = host;
  const network = { fs, processes, bridge };
  await fs.makeDirectory(cniConfDir, 0o711);
  const podCidrs = [podCidr];
  const config = defaultBridgeConfig({ bridge, podCidrs, ipamDir: `${runtimeFolders(parts).rootDir}/ipam` });
  await fs.writeAtomic(`${cniConfDir}/10-nodelet.conflist`, config, { mode: 0o600 });
  const earlier = await readNetworkRecord(parts);
  const bootId = (await fs.readText('/proc/sys/kernel/random/boot_id')).trim();
  const chainsExist = await hostPortChainsExist(network, signal);
  const record = nextNetworkRecord(earlier, { bootId, stateDir: parts.stateDir, podCidr, hostPortChainsExist: chainsExist });
  await fs.writeAtomic(networkRecord, JSON.stringify(record)); // before there is a rule that only it knows of
  await removeStaleMasquerade(network, record.podCidrs, signal);
  await Promise.all([removeUnusedBridge(network, signal), ensureMasquerade(processes, { bridge, podCidrs }, signal)]);
  return record;
}

async function readNetworkRecord({ host: { fs }, networkRecord }: Parts): Promise<NetworkRecord | undefined> {
  return (await fs.stat(networkRecord)) === undefined ? undefined : decodeNetworkRecord(await fs.readText(networkRecord));
}

/** After a start that failed or was given up: without a pod of an earlier run, nothing of it stays. Never rejects. */
async function cleanUpFailedStart(parts: Parts): Promise<void> {
  const { host, log, bridge, podCidr } = parts;
  const { fs, processes, clock } = host;
  const { sandboxRecords, containerRecords } = runtimePaths(runtimeFolders(parts));
  try {
    for (const folder of [sandboxRecords, containerRecords]) {
      if ((await fs.stat(folder)) !== undefined && (await fs.readDirectory(folder)).length > 0) return;
    }
    const record = (await readNetworkRecord(parts)) ?? { ownsHostPortChains: false, podCidrs: [podCidr] };
    const signal = clock.deadline(CLEANUP_MS);
    await removeLeftovers(parts, record, await emptyChains({ fs, processes, bridge }, signal), signal);
  } catch (error) {
    log.warn('cannot undo a start that was given up; the next one does', { error });
  }
}

async function stopRuntime(parts: Parts, runtime: RunningEmbedded, record: NetworkRecord): Promise<boolean> {
  const { host, log, bridge } = parts;
  const signal = host.clock.deadline(CLEANUP_MS);
  const isEmpty = runtime.isEmpty();
  const chains = isEmpty ? await emptyChains({ ...host, bridge }, signal) : [];
  await runtime.close();
  if (!isEmpty) {
    log.warn('pods are left: they and their network stay', { bridge });
    return false;
  }
  await removeLeftovers(parts, record, chains, signal);
  return true;
}

async function removeLeftovers(
  parts: Parts,
  { ownsHostPortChains, podCidrs }: Pick<NetworkRecord, 'ownsHostPortChains' | 'podCidrs'>,
  chains: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { bridge, host } = parts;
  await removeMasquerade(host.processes, { bridge, podCidrs }, signal);
  await removeNetwork({ ...host, bridge }, { ownsHostPortChains, emptyChains: chains }, signal);
  await host.fs.removeTree(runtimeFolders(parts).stateDir);
  await host.fs.remove(parts.networkRecord);
}
