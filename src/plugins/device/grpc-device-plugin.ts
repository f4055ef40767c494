import type { Clock } from '../../host/clock.ts';
import {
  type ContainerAllocateResponse,
  type Device,
  DevicePluginDefinition,
  type DevicePluginOptions,
} from '../generated/deviceplugin-v1beta1.ts';
import { PluginConnection, pluginRpc } from '../plugin-connection.ts';
import type { DevicePlugin, PluginDevice, PreferredAllocationRequest } from './device-plugin.ts';

const { methods } = DevicePluginDefinition;
const RPC = {
  options: pluginRpc(DevicePluginDefinition, methods.getDevicePluginOptions),
  listAndWatch: pluginRpc(DevicePluginDefinition, methods.listAndWatch),
  preferredAllocation: pluginRpc(DevicePluginDefinition, methods.getPreferredAllocation),
  allocate: pluginRpc(DevicePluginDefinition, methods.allocate),
  preStartContainer: pluginRpc(DevicePluginDefinition, methods.preStartContainer),
};

/** kubelet's timeouts. */
const DIAL_MS = 10_000;
const PRE_START_MS = 30_000;
/**
 * kubelet sets no deadline for the others, so that a plugin that hangs stops its node. Here it delays only pods that
 * request its devices, and each of them for a limited time: it is rejected then, and the next one is tried.
 */
const OPTIONS_MS = 10_000;
const PREFERRED_ALLOCATION_MS = 10_000;
const ALLOCATE_MS = 60_000;

/** The largest NUMA node id that kubelet's masks can hold. */
const MAX_NUMA_NODE = 63n;

/** The connection to a device plugin, before and after it is registered. */
export class DevicePluginConnection {
  readonly #resourceName: string;
  readonly #connection: PluginConnection;

  constructor(resourceName: string, socketPath: string, clock: Clock) {
    this.#resourceName = resourceName;
    this.#connection = new PluginConnection(socketPath, clock, resourceName);
  }

  /** Rejects with Go's text when the plugin does not accept the connection. */
  connect(signal: AbortSignal): Promise<void> {
    return this.#connection.connect(DIAL_MS, signal);
  }

  /** Asks for its options. */
  async plugin(signal: AbortSignal): Promise<DevicePlugin> {
    const options = await this.#connection.call(RPC.options, {}, OPTIONS_MS, signal);
    return new GrpcDevicePlugin(this.#resourceName, options, this.#connection);
  }

  /** Every list of devices that the plugin sends, until it ends the stream, the connection breaks or the signal aborts. */
  async *listAndWatch(signal: AbortSignal): AsyncIterable<ReadonlyMap<string, PluginDevice>> {
    for await (const { devices } of this.#connection.stream(RPC.listAndWatch, {}, signal)) {
      yield new Map(devices.map((each) => [each.ID, toPluginDevice(each)]));
    }
  }

  close(): void {
    this.#connection.close();
  }
}

class GrpcDevicePlugin implements DevicePlugin {
  readonly resourceName: string;
  readonly options: DevicePluginOptions;
  readonly #connection: PluginConnection;

  constructor(resourceName: string, options: DevicePluginOptions, connection: PluginConnection) {
    this.resourceName = resourceName;
    this.options = options;
    this.#connection = connection;
  }

  async preferredAllocation(request: PreferredAllocationRequest, signal: AbortSignal): Promise<readonly string[]> {
    const { available, mustInclude, size } = request;
    const one = {
      availableDeviceIDs: [...available],
      mustIncludeDeviceIDs: [...mustInclude],
      allocationSize: size,
    };
    const rpc = RPC.preferredAllocation;
    const response = await this.#connection.call(rpc, { containerRequests: [one] }, PREFERRED_ALLOCATION_MS, signal);
    return response.containerResponses[0]?.deviceIDs ?? [];
  }

  async allocate(deviceIds: readonly string[], signal: AbortSignal): Promise<ContainerAllocateResponse | undefined> {
    const request = { containerRequests: [{ devicesIds: [...deviceIds] }] };
    const { containerResponses } = await this.#connection.call(RPC.allocate, request, ALLOCATE_MS, signal);
    return containerResponses[0];
  }

  async preStartContainer(deviceIds: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#connection.call(RPC.preStartContainer, { devicesIds: [...deviceIds] }, PRE_START_MS, signal);
  }
}

/** A NUMA node that no machine can have is left out. */
function toPluginDevice({ ID, health, topology }: Device): PluginDevice {
  const nodes = (topology?.nodes ?? []).map((node) => node.ID);
  const numaNodes = [...new Set(nodes)].filter((id) => id >= 0n && id <= MAX_NUMA_NODE).map(Number);
  return { id: ID, health, numaNodes };
}
