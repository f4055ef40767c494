import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { ProxyEnvironment } from '../../base/proxy-for.ts';
import type { UnhandledErrors } from '../../base/unhandled-errors.ts';
import type { ConnectOptions, CriConnection } from '../../cri/client.ts';
import { connectInProcess } from '../../cri/in-process.ts';
import type { Cri } from '../../cri/services.ts';
import { FileSystemError, isOutOfSpace } from '../../host/file-system.ts';
import type { Host } from '../../host/host.ts';
import { defaultBridgeConfig, ensureMasquerade, unavailableConfig } from '../../runtime/network/default-bridge.ts';
import { runtimePaths } from '../../runtime/settings/runtime-paths.ts';
import { SpaceError } from '../../runtime/storage/space-guard.ts';
import { BUSYBOX_IMAGE, ensureBusybox } from '../images/local-images.ts';
import { bridgeName } from '../pod-network/bridge-name.ts';
import { chooseNatBackend, type NatChoice } from '../pod-network/nat-backend.ts';
import {
  emptyChains,
  hostPortChainsExist,
  type NetworkParts,
  packagesForRemoval,
  removeNetwork,
  removeStaleMasquerade,
  removeUnusedBridge,
} from '../pod-network/network-cleanup.ts';
import { readNatFacts } from '../pod-network/read-nat-facts.ts';
import { runtimeFolders } from './embedded-settings.ts';
import { checkLocalPreconditions } from './local-preconditions.ts';
import { CNI_BIN_DIRS } from './missing-programs.ts';
import { decodeNetworkRecord, type NetworkRecord, nextNetworkRecord } from './network-record.ts';
import { type EmbeddedOptions, type RunningEmbedded, startEmbedded } from './start-embedded.ts';
import { StartupError } from './startup-error.ts';

const CLEANUP_MS = 30_000;

export interface LocalRuntimeOptions {
  readonly host: Host;
  /** The parent folder of images, which are kept for the next run. */
  readonly rootDir: string;
  /** The parent folder of sockets and mounts. */
  readonly stateDir: string;
  /** `10.88.0.0/16` */
  readonly podCidr: string;
  readonly registryConfigDirs: readonly string[];
  readonly version: string;
  readonly pid: number;
  /** The environment of the process, for its proxies. */
  readonly env: ProxyEnvironment;
  readonly log: Log;
  readonly unhandled: UnhandledErrors;
  /** Called for each image command that the start waits for. */
  onWaiting?(text: string): void;
}

/** The runtime of `nodelet run`: embedded, with its own bridge network. */
export interface LocalRuntime {
  connect(options: ConnectOptions): CriConnection;
  /** Loads the local image. */
  prepare(cri: Cri, signal: AbortSignal): Promise<void>;
  /** Whether it holds no state of any pod, also not of pods whose removal no caller waits for. */
  isEmpty(): Promise<boolean>;
  /**
   * Stops the runtime and removes everything but its images. Remaining pods and their network are kept, and the next
   * start adopts them. Resolves to whether nothing is left.
   */
  stop(): Promise<boolean>;
}

interface Parts extends LocalRuntimeOptions {
  readonly networkRecord: string;
  readonly cniConfDir: string;
  readonly nat: NatChoice;
  readonly network: NetworkParts;
}

/** Rejects with a `StartupError` for the user. */
export async function startLocalRuntime(options: LocalRuntimeOptions, signal: AbortSignal): Promise<LocalRuntime> {
  const { host, podCidr } = options;
  const bridge = bridgeName(options.rootDir);
  await checkLocalPreconditions({ fs: host.fs, mounts: host.mounts, bridge, podCidr });
  const parts = await readParts(options, bridge, signal);
  const prepared = Promise.withResolvers<NetworkRecord>();
  let isClaimed = false;
  const prepare = async (): Promise<void> => {
    isClaimed = true;
    prepared.resolve(await prepareNetwork(parts, signal));
  };
  const embedded: EmbeddedOptions = {
    ...options,
    cniConfDir: parts.cniConfDir,
    cniBinDirs: CNI_BIN_DIRS,
    cniMaxConfNum: 1,
    handlers: new Map(),
    nriSocket: undefined,
    pinnedImages: [BUSYBOX_IMAGE],
    cgroupDriver: 'cgroupfs',
    prepare,
  };
  const runtime = await startEmbedded(embedded, signal).catch(async (error: unknown) => {
    if (isClaimed) await cleanUpFailedStart(parts);
    throw error;
  });
  const record = await prepared.promise;
  return {
    connect: (connectOptions) => connectInProcess(runtime.cri, connectOptions),
    prepare: (cri, until) => prepareImages(parts, runtime, cri, until),
    isEmpty: async () => runtime.isEmpty(),
    stop: () => stopRuntime(parts, runtime, record),
  };
}

async function readParts(options: LocalRuntimeOptions, bridge: string, signal: AbortSignal): Promise<Parts> {
  const folders = runtimeFolders(options);
  const { fs, processes } = options.host;
  const machine = { fs, processes, bridge, podCidr: options.podCidr, cniBinDirs: CNI_BIN_DIRS };
  const { facts, ruleSets } = await readNatFacts(machine, signal);
  return {
    ...options,
    networkRecord: `${folders.rootDir}/network.json`,
    cniConfDir: `${folders.stateDir}/cni`,
    nat: chooseNatBackend(facts),
    network: { fs, processes, bridge, ruleSets, hasNft: facts.nft.state === 'usable' },
  };
}

/** A full disk is an error only if there are no pods that could continue without the image. */
async function prepareImages(
  { host, rootDir, log }: Parts,
  runtime: RunningEmbedded,
  cri: Cri,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { fs, processes } = host;
    await ensureBusybox({ fs, processes, cri, loader: runtime.loader }, signal);
  } catch (error) {
    const isFull = error instanceof SpaceError || (error instanceof FileSystemError && isOutOfSpace(error));
    if (!isFull) throw error;
    if (runtime.isEmpty())
      throw new StartupError(`cannot load image ${BUSYBOX_IMAGE}: ${errorText(error)}`, { cause: error });
    log.warn('cannot load the local image: the disk is full', { image: BUSYBOX_IMAGE, rootDir, error });
  }
}

async function prepareNetwork(parts: Parts, signal: AbortSignal): Promise<NetworkRecord> {
  const { host, network, nat, podCidr, cniConfDir, networkRecord, log } = parts;
  const { fs, processes } = host;
  const { bridge } = network;
  await fs.makeDirectory(cniConfDir, 0o711);
  await fs.writeAtomic(`${cniConfDir}/10-nodelet.conflist`, networkConfig(parts), { mode: 0o600 });
  const previous = await readNetworkRecord(parts);
  const bootId = (await fs.readText('/proc/sys/kernel/random/boot_id')).trim();
  const chainsExist = await hostPortChainsExist(network, signal);
  const record = nextNetworkRecord(previous, {
    bootId,
    stateDir: parts.stateDir,
    podCidr,
    backend: nat.kind,
    hostPortChainsExist: chainsExist,
  });
  await fs.writeAtomic(networkRecord, JSON.stringify(record)); // before the first rule that only this record names
  await removeStaleMasquerade(network, record.podCidrs, signal);
  if (nat.kind === 'none') log.warn('pods get no network', { error: nat.error });
  const masqueraded =
    nat.kind !== 'none' && ensureMasquerade(processes, { ...record, backend: nat.kind, bridge }, signal);
  await Promise.all([removeUnusedBridge(network, signal), masqueraded]);
  return record;
}

function networkConfig(parts: Parts): string {
  const { nat, network, podCidr } = parts;
  const { bridge } = network;
  if (nat.kind === 'none') return unavailableConfig(bridge, nat.error);
  const ipamDir = `${runtimeFolders(parts).rootDir}/ipam`;
  return defaultBridgeConfig({ backend: nat.kind, bridge, podCidrs: [podCidr], ipamDir });
}

async function readNetworkRecord({ host: { fs }, networkRecord }: Parts): Promise<NetworkRecord | undefined> {
  return (await fs.stat(networkRecord)) === undefined
    ? undefined
    : decodeNetworkRecord(await fs.readText(networkRecord));
}

/** Removes everything of a failed or aborted start, unless there are pods of a previous process. Never rejects. */
async function cleanUpFailedStart(parts: Parts): Promise<void> {
  const { host, log, network } = parts;
  const { fs, clock } = host;
  const { sandboxRecords, containerRecords } = runtimePaths(runtimeFolders(parts));
  try {
    for (const folder of [sandboxRecords, containerRecords]) {
      if ((await fs.stat(folder)) !== undefined && (await fs.readDirectory(folder)).length > 0) return;
    }
    const record = (await readNetworkRecord(parts)) ?? { ownsHostPortChains: false, backends: [] };
    const signal = clock.deadline(CLEANUP_MS);
    await removeLeftovers(parts, record, await emptyChains(network, signal), signal);
  } catch (error) {
    log.warn('cannot clean up a failed start; the next start does', { error });
  }
}

async function stopRuntime(parts: Parts, runtime: RunningEmbedded, record: NetworkRecord): Promise<boolean> {
  const { host, log, network } = parts;
  const signal = host.clock.deadline(CLEANUP_MS);
  const isEmpty = runtime.isEmpty();
  const chains = isEmpty ? await emptyChains(network, signal) : [];
  await runtime.close();
  if (!isEmpty) {
    log.warn('pods are left: they and their network are kept', { bridge: network.bridge });
    return false;
  }
  return removeLeftovers(parts, record, chains, signal);
}

/** Resolves to whether nothing is left. */
async function removeLeftovers(
  parts: Parts,
  { ownsHostPortChains, backends }: Pick<NetworkRecord, 'ownsHostPortChains' | 'backends'>,
  chains: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const { host, network, networkRecord, log } = parts;
  await removeNetwork(network, { ownsHostPortChains, emptyChains: chains }, signal);
  await host.fs.removeTree(runtimeFolders(parts).stateDir);
  const packages = packagesForRemoval(network, backends);
  if (packages.length > 0) {
    log.warn('NAT rules of the pods are left: their program is gone', { bridge: network.bridge, install: packages });
    return false;
  }
  await host.fs.remove(networkRecord);
  return true;
}
