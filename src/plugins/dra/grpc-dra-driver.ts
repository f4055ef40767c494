import type { Clock } from '../../host/clock.ts';
import { type DeviceHealth, DRAResourceHealthDefinition } from '../generated/dra-health-v1alpha1.ts';
import {
  type Claim,
  DRAPluginDefinition,
  type NodePrepareResourcesResponse,
  type NodeUnprepareResourcesResponse,
} from '../generated/dra-v1.ts';
import { PluginConnection, pluginRpc } from '../plugin-connection.ts';
import type { DraDriver } from './dra-drivers.ts';
import { type DraService, grpcServiceName } from './dra-services.ts';

/** kubelet's timeout of one call. */
export const DRA_TIMEOUT_MS = 45_000;

const { nodePrepareResources, nodeUnprepareResources } = DRAPluginDefinition.methods;
const WATCH = pluginRpc(DRAResourceHealthDefinition, DRAResourceHealthDefinition.methods.nodeWatchResources);

/** A plugin of a driver behind a unix socket. */
export class GrpcDraDriver implements DraDriver {
  readonly name: string;
  /** The path of its socket. */
  readonly endpoint: string;
  readonly #connection: PluginConnection;
  readonly #prepare;
  readonly #unprepare;

  /** Throws for an endpoint that is not an absolute path. */
  constructor(name: string, endpoint: string, service: DraService, clock: Clock) {
    this.name = name;
    this.endpoint = endpoint;
    this.#connection = new PluginConnection(endpoint, clock, name);
    const fullName = grpcServiceName(service);
    this.#prepare = pluginRpc({ fullName }, nodePrepareResources);
    this.#unprepare = pluginRpc({ fullName }, nodeUnprepareResources);
  }

  prepare(claims: readonly Claim[], signal: AbortSignal): Promise<NodePrepareResourcesResponse> {
    return this.#connection.call(this.#prepare, { claims: [...claims] }, DRA_TIMEOUT_MS, signal);
  }

  unprepare(claims: readonly Claim[], signal: AbortSignal): Promise<NodeUnprepareResourcesResponse> {
    return this.#connection.call(this.#unprepare, { claims: [...claims] }, DRA_TIMEOUT_MS, signal);
  }

  /** The health of all devices that the plugin monitors, with each change. */
  async *health(signal: AbortSignal): AsyncGenerator<readonly DeviceHealth[]> {
    for await (const { devices } of this.#connection.stream(WATCH, {}, signal)) yield devices;
  }

  /** Connects now, and after each loss. The listener is called with each change, until `close`. */
  followConnection(listener: (isConnected: boolean) => void): void {
    this.#connection.follow(listener);
  }

  close(): void {
    this.#connection.close();
  }
}
