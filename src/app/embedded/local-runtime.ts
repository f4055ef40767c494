import type { Log } from '../../base/log.ts';
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
  removeUnusedBridge,
} from '../pod-network/network-leftovers.ts';
import { runtimeFolders } from './embedded-settings.ts';
import { ensureBusybox } from './ensure-busybox.ts';
import { checkLocalPreconditions } from './local-preconditions.ts';
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
  readonly version: string;
  readonly log: Log;
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
    networkRecord: `${folders.stateDir}/network.json`,
    cniConfDir: `${folders.stateDir}/cni`,
  };
  const { host } = options;
  await checkLocalPreconditions({ ...host, ...parts });
  const ownsHostPortChains = await prepareNetwork(parts, signal);
  const runtime = await startEmbedded(
    { ...parts, cniBinDirs: CNI_BIN_DIRS, handlers: new Map(), nriSocket: undefined, pinnedImages: [BUSYBOX_IMAGE] },
    signal,
  );
  return {
    connect: (given) => connectInProcess(runtime.cri, given),
    prepare: (cri, until) =>
      ensureBusybox({ ...host, cri, load: runtime.images.load, folder: folders.stateDir }, until),
    isEmpty: async () => runtime.isEmpty(),
    stop: () => stopRuntime(parts, runtime, ownsHostPortChains),
  };
}

/** Whether the chains of host ports came with our pods: then they go with them. */
async function prepareNetwork(parts: Parts, signal: AbortSignal): Promise<boolean> {
  const { host, bridge, podCidr, cniConfDir, networkRecord } = parts;
  const { fs, processes } = host;
  const network = { fs, processes, bridge };
  await fs.makeDirectory(cniConfDir, 0o711);
  const podCidrs = [podCidr];
  const config = defaultBridgeConfig({ bridge, podCidrs, ipamDir: `${runtimeFolders(parts).rootDir}/ipam` });
  await fs.writeAtomic(`${cniConfDir}/10-nodelet.conflist`, config, { mode: 0o600 });
  const [owns] = await Promise.all([
    ownership(parts, () => hostPortChainsExist(network, signal)),
    removeUnusedBridge(network, signal),
    ensureMasquerade(processes, { bridge, podCidrs }, signal),
  ]);
  await fs.writeAtomic(networkRecord, JSON.stringify({ ownsHostPortChains: owns }));
  return owns;
}

/** As an earlier start found it while there were none of our pods yet. */
async function ownership({ host, networkRecord }: Parts, chainsExist: () => Promise<boolean>): Promise<boolean> {
  if ((await host.fs.stat(networkRecord)) === undefined) return !(await chainsExist());
  try {
    const record = JSON.parse(await host.fs.readText(networkRecord)) as { readonly ownsHostPortChains?: unknown };
    return record.ownsHostPortChains === true;
  } catch {
    return false; // cut short by a crash of the machine, which has cleared the chains too
  }
}

async function stopRuntime(parts: Parts, runtime: RunningEmbedded, ownsHostPortChains: boolean): Promise<boolean> {
  const { host, log, bridge, podCidr } = parts;
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
  await removeMasquerade(processes, { bridge, podCidrs: [podCidr] }, signal);
  await removeNetwork(network, before, signal);
  await fs.removeTree(runtimeFolders(parts).stateDir);
  return true;
}
