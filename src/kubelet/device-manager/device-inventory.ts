import { byCodePoint } from '../../base/code-point-order.ts';
import { type DevicePlugin, HEALTHY, type PluginDevice } from '../../plugins/device/device-plugin.ts';
import type { DeviceCounts } from '../node/status/node-resources.ts';

/** kubelet's `endpointStopGracePeriod`: the node keeps the capacity of a lost plugin for this long. */
const STOP_GRACE_MS = 5 * 60_000;

/** A plugin, or what is known of it. */
type Endpoint =
  | { readonly state: 'connected'; readonly plugin: DevicePlugin }
  /** Lost, or not registered again since the agent started: its options are not known then. */
  | { readonly state: 'stopped'; readonly sinceMs: number; readonly options?: DevicePlugin['options'] };

interface Resource {
  endpoint: Endpoint;
  /** `undefined` before the first report. */
  healthy: ReadonlySet<string> | undefined;
  /** `undefined` before the first report, unless the plugin was lost. */
  unhealthy: ReadonlySet<string> | undefined;
}

const NO_REPORT: ReadonlyMap<string, PluginDevice> = new Map();
const NO_IDS: ReadonlySet<string> = new Set();

/** The plugins of the node and their devices. Times are monotonic. */
export class DeviceInventory {
  readonly #resources = new Map<string, Resource>();
  /** The last report of each resource; it outlives the plugin. */
  readonly #devices = new Map<string, ReadonlyMap<string, PluginDevice>>();
  readonly #removed = new Set<string>();

  /** After a start: the resource has no devices until its plugin registers again. */
  restore(resource: string, nowMs: number): void {
    if (this.#resources.has(resource)) return;
    const endpoint = { state: 'stopped', sinceMs: nowMs } as const;
    this.#resources.set(resource, { endpoint, healthy: NO_IDS, unhealthy: NO_IDS });
  }

  connected(plugin: DevicePlugin): void {
    const known = this.#resources.get(plugin.resourceName);
    const before = known ?? { healthy: undefined, unhealthy: undefined };
    this.#resources.set(plugin.resourceName, { ...before, endpoint: { state: 'connected', plugin } });
    this.#removed.delete(plugin.resourceName);
  }

  /** Returns the devices whose health changed, or that were not known. */
  reported(plugin: DevicePlugin, devices: ReadonlyMap<string, PluginDevice>): ReadonlySet<string> {
    const resource = this.#resources.get(plugin.resourceName);
    if (!resource) return NO_IDS;
    const before = this.devices(plugin.resourceName);
    const ids = [...devices.keys()].toSorted(byCodePoint);
    const isHealthy = (id: string): boolean => devices.get(id)?.health === HEALTHY;
    this.#devices.set(plugin.resourceName, devices);
    resource.healthy = new Set(ids.filter(isHealthy));
    resource.unhealthy = new Set(ids.filter((id) => !isHealthy(id)));
    return new Set(ids.filter((id) => before.get(id)?.health !== devices.get(id)?.health));
  }

  disconnected(plugin: DevicePlugin, nowMs: number): void {
    const resource = this.#resources.get(plugin.resourceName);
    if (!resource) return;
    resource.unhealthy = (resource.unhealthy ?? NO_IDS).union(resource.healthy ?? NO_IDS);
    if (resource.healthy) resource.healthy = NO_IDS;
    resource.endpoint = { state: 'stopped', sinceMs: nowMs, options: plugin.options };
  }

  /** Removes resources whose plugins are lost for too long. Returns whether there were any. */
  expire(nowMs: number): boolean {
    const expired = [...this.#resources].filter(
      ([, { endpoint }]) => endpoint.state === 'stopped' && nowMs - endpoint.sinceMs > STOP_GRACE_MS,
    );
    for (const [name] of expired) {
      this.#resources.delete(name);
      this.#removed.add(name);
    }
    return expired.length > 0;
  }

  counts(): DeviceCounts {
    const capacity = new Map<string, number>();
    const allocatable = new Map<string, number>();
    for (const [name, { healthy, unhealthy }] of this.#resources) {
      if (healthy) allocatable.set(name, healthy.size);
      if (healthy || unhealthy) capacity.set(name, (healthy?.size ?? 0) + (unhealthy?.size ?? 0));
    }
    return { capacity, allocatable, removed: new Set(this.#removed) };
  }

  /** Whether a plugin has reported devices of the resource, in this process or before it. */
  has(resource: string): boolean {
    return this.healthy(resource) !== undefined;
  }

  healthy(resource: string): ReadonlySet<string> | undefined {
    return this.#resources.get(resource)?.healthy;
  }

  devices(resource: string): ReadonlyMap<string, PluginDevice> {
    return this.#devices.get(resource) ?? NO_REPORT;
  }

  /** Throws kubelet's text without a plugin that can be called. */
  plugin(resource: string): DevicePlugin {
    const endpoint = this.#resources.get(resource)?.endpoint;
    if (!endpoint) throw new Error(`unknown Device Plugin ${resource}`);
    if (endpoint.state === 'stopped') throw new Error(`endpoint ${resource} has been stopped`);
    return endpoint.plugin;
  }

  /** `undefined`: the plugin has not registered in this process. Throws kubelet's text without any endpoint. */
  options(resource: string): DevicePlugin['options'] | undefined {
    const endpoint = this.#resources.get(resource)?.endpoint;
    if (!endpoint) throw new Error(`endpoint not found in cache for a registered resource: ${resource}`);
    return endpoint.state === 'connected' ? endpoint.plugin.options : endpoint.options;
  }

  /** The ids of healthy devices by resource: what the checkpoint keeps. */
  registered(): ReadonlyMap<string, readonly string[]> {
    return new Map([...this.#resources].flatMap(([name, { healthy }]) => (healthy ? [[name, [...healthy]]] : [])));
  }
}
