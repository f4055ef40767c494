import type { Log } from '../../base/log.ts';
import type { ProxyEnvironment } from '../../base/proxy-for.ts';
import type { ConnectOptions, CriConnection } from '../../cri/client.ts';
import { connectInProcess } from '../../cri/in-process.ts';
import type { Cri } from '../../cri/services.ts';
import type { Host } from '../../host/host.ts';
import { defaultBridgeConfig } from '../../runtime/network/default-bridge.ts';
import { ensureMasquerade, removeMasquerade } from '../../runtime/network/masquerade.ts';
import { BUSYBOX_IMAGE } from '../images/local-images.ts';
import { bridgeName } from '../pod-network/bridge-name.ts';
import {
  emptyChains,
  hostPortChainsExist,
  removeNetwork,
  removeStaleMasquerade,
  removeUnusedBridge,
} from '../pod-network/network-leftovers.ts';
import { runtimeFolders } from './embedded-settings.ts';
import { ensureBusybox } from './ensure-busybox.ts';
import { checkLocalPreconditions } from './local-preconditions.ts';
import { type NetworkRecord, nextRecord } from './network-record.ts';
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
  waiting?(text: string): void;
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
  const prepare = async (): Promise<void> => prepared.resolve(await prepareNetwork(parts, signal));
  const runtime = await startEmbedded({ ...parts, ...choices, prepare }, signal);
  const record = await prepared.promise;
  return {
    connect: (given) => connectInProcess(runtime.cri, given),
    prepare: (cri, until) => ensureBusybox({ ...host, cri, loader: runtime.loader }, until),
    isEmpty: async () => runtime.isEmpty(),
    stop: () => stopRuntime(parts, runtime, record),
  };
}

async function prepareNetwork(parts: Parts, signal: AbortSignal): Promise<NetworkRecord> {
  const { host, bridge, podCidr, cniConfDir, networkRecord } = parts;
  const { fs, processes } = host;
  const network = { fs, processes, bridge };
  await fs.makeDirectory(cniConfDir, 0o711);
  const podCidrs = [podCidr];
  const config = defaultBridgeConfig({ bridge, podCidrs, ipamDir: `${runtimeFolders(parts).rootDir}/ipam` });
  await fs.writeAtomic(`${cniConfDir}/10-nodelet.conflist`, config, { mode: 0o600 });
  const text = (await fs.stat(networkRecord)) === undefined ? undefined : await fs.readText(networkRecord);
  const bootId = (await fs.readText('/proc/sys/kernel/random/boot_id')).trim();
  const chainsExist = await hostPortChainsExist(network, signal);
  const record = nextRecord(text, { bootId, stateDir: parts.stateDir, podCidr, hostPortChainsExist: chainsExist });
  await fs.writeAtomic(networkRecord, JSON.stringify(record)); // before there is a rule that only it knows of
  await removeStaleMasquerade(network, record.podCidrs, signal);
  await Promise.all([removeUnusedBridge(network, signal), ensureMasquerade(processes, { bridge, podCidrs }, signal)]);
  return record;
}

async function stopRuntime(parts: Parts, runtime: RunningEmbedded, record: NetworkRecord): Promise<boolean> {
  const { host, log, bridge } = parts;
  const { ownsHostPortChains, podCidrs } = record;
  const { fs, processes, clock } = host;
  const network = { fs, processes, bridge };
  const signal = clock.deadline(CLEANUP_MS);
  const isEmpty = runtime.isEmpty();
  const before = { ownsHostPortChains, emptyChains: isEmpty ? await emptyChains(network, signal) : [] };
  await runtime.close();
  if (!isEmpty) {
    log.warn('pods are left: they and their network stay', { bridge });
    return false;
  }
  await removeMasquerade(processes, { bridge, podCidrs }, signal);
  await removeNetwork(network, before, signal);
  await fs.removeTree(runtimeFolders(parts).stateDir);
  await fs.remove(parts.networkRecord);
  return true;
}
