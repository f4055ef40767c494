import type { Clock } from '../../host/clock.ts';
import {
  NodeServiceCapability_RPC_Type as CapabilityNumber,
  NodeDefinition,
  type NodeExpandVolumeRequest,
  type NodeExpandVolumeResponse,
  type NodeGetVolumeStatsRequest,
  type NodeGetVolumeStatsResponse,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
} from '../generated/csi-v1.ts';
import { PluginConnection, type PluginRpc, pluginRpc } from '../plugin-connection.ts';
import type { CsiDriver, CsiNodeCapability } from './csi-drivers.ts';
import { type CsiNodeInfo, toCsiNodeInfo } from './csi-node-info.ts';

/** kubelet's timeout of one call. */
export const CSI_TIMEOUT_MS = 120_000;

const { methods } = NodeDefinition;
const RPC = {
  stageVolume: pluginRpc(NodeDefinition, methods.nodeStageVolume),
  unstageVolume: pluginRpc(NodeDefinition, methods.nodeUnstageVolume),
  publishVolume: pluginRpc(NodeDefinition, methods.nodePublishVolume),
  unpublishVolume: pluginRpc(NodeDefinition, methods.nodeUnpublishVolume),
  volumeStats: pluginRpc(NodeDefinition, methods.nodeGetVolumeStats),
  expandVolume: pluginRpc(NodeDefinition, methods.nodeExpandVolume),
  capabilities: pluginRpc(NodeDefinition, methods.nodeGetCapabilities),
  info: pluginRpc(NodeDefinition, methods.nodeGetInfo),
};

const CAPABILITIES: ReadonlyMap<number, CsiNodeCapability> = new Map([
  [CapabilityNumber.STAGE_UNSTAGE_VOLUME, 'STAGE_UNSTAGE_VOLUME'],
  [CapabilityNumber.GET_VOLUME_STATS, 'GET_VOLUME_STATS'],
  [CapabilityNumber.EXPAND_VOLUME, 'EXPAND_VOLUME'],
  [CapabilityNumber.VOLUME_CONDITION, 'VOLUME_CONDITION'],
  [CapabilityNumber.SINGLE_NODE_MULTI_WRITER, 'SINGLE_NODE_MULTI_WRITER'],
  [CapabilityNumber.VOLUME_MOUNT_GROUP, 'VOLUME_MOUNT_GROUP'],
]);

/** The calls of a driver before it has registered. */
export class CsiNodeClient {
  readonly #connection: PluginConnection;

  /** `endpoint` is the path of the driver's socket. */
  constructor(driver: string, endpoint: string, clock: Clock) {
    this.#connection = new PluginConnection(endpoint, clock, driver);
  }

  async info(signal: AbortSignal): Promise<CsiNodeInfo> {
    return toCsiNodeInfo(await this.call(RPC.info, {}, signal));
  }

  /** Capabilities that this version does not know are left out. */
  async capabilities(signal: AbortSignal): Promise<ReadonlySet<CsiNodeCapability>> {
    const { capabilities } = await this.call(RPC.capabilities, {}, signal);
    const known = capabilities.map(({ rpc }) => CAPABILITIES.get(rpc?.type ?? 0));
    return new Set(known.filter((each) => each !== undefined));
  }

  call<Request, Response>(
    rpc: PluginRpc<Request, Response>,
    request: Request,
    signal: AbortSignal,
    isMigrated?: boolean,
  ): Promise<Response> {
    return this.#connection.call(rpc, request, CSI_TIMEOUT_MS, signal, isMigrated);
  }

  close(): void {
    this.#connection.close();
  }
}

/** A driver behind a unix socket. */
export class GrpcCsiDriver implements CsiDriver {
  readonly name: string;
  readonly capabilities: ReadonlySet<CsiNodeCapability>;
  readonly #client: CsiNodeClient;

  constructor(name: string, capabilities: ReadonlySet<CsiNodeCapability>, client: CsiNodeClient) {
    this.name = name;
    this.capabilities = capabilities;
    this.#client = client;
  }

  async stageVolume(request: NodeStageVolumeRequest, signal: AbortSignal, isMigrated?: boolean): Promise<void> {
    await this.#client.call(RPC.stageVolume, request, signal, isMigrated);
  }

  async unstageVolume(request: NodeUnstageVolumeRequest, signal: AbortSignal): Promise<void> {
    await this.#client.call(RPC.unstageVolume, request, signal);
  }

  async publishVolume(request: NodePublishVolumeRequest, signal: AbortSignal, isMigrated?: boolean): Promise<void> {
    await this.#client.call(RPC.publishVolume, request, signal, isMigrated);
  }

  async unpublishVolume(request: NodeUnpublishVolumeRequest, signal: AbortSignal): Promise<void> {
    await this.#client.call(RPC.unpublishVolume, request, signal);
  }

  expandVolume(
    request: NodeExpandVolumeRequest,
    signal: AbortSignal,
    isMigrated?: boolean,
  ): Promise<NodeExpandVolumeResponse> {
    return this.#client.call(RPC.expandVolume, request, signal, isMigrated);
  }

  volumeStats(request: NodeGetVolumeStatsRequest, signal: AbortSignal): Promise<NodeGetVolumeStatsResponse> {
    return this.#client.call(RPC.volumeStats, request, signal);
  }
}
