import type { Container, Pod, ResourceStatus } from '../../api/generated/core-v1.ts';
import { podLimits } from '../../api/pod-resources.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import {
  type DevicePlugin,
  type DevicePluginReceiver,
  HEALTHY,
  type PluginDevice,
} from '../../plugins/device/device-plugin.ts';
import { goErrorText, PluginError } from '../../plugins/plugin-error.ts';
import type { DeviceCounts } from '../node/status/node-resources.ts';
import type { ContainerRunOptions } from '../pod/container-run-options.ts';
import type { AssignedDevices } from '../pod-resources/allocated-resources.ts';
import type { HintProvider, HintsByResource, TopologyHint } from '../topology/hint-provider.ts';
import { type DeviceIds, isAligned } from './choose-devices.ts';
import { DeviceAllocation } from './device-allocation.ts';
import { DeviceCheckpointFile } from './device-checkpoint-file.ts';
import { containersInOrder } from './device-demands.ts';
import { deviceHints } from './device-hints.ts';
import { DeviceInventory } from './device-inventory.ts';
import { deviceRunOptions } from './device-run-options.ts';
import { idsOf, NO_NUMA_NODE, PodDevices } from './pod-devices.ts';

const NO_IDS: DeviceIds = new Set();

export interface DeviceManagerDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
  /** `<root>/device-plugins` */
  readonly folder: string;
  /** Whether any container of the pod runs. */
  readonly isRunning: (uid: string) => boolean;
  /** The health of a device of the pod changed. */
  readonly onPodChanged: (uid: string) => void;
}

/**
 * Assigns the devices of device plugins to containers.
 *
 * 1. What containers have is on disk, in kubelet's own checkpoint, before `settle` resolves. After a restart the file is
 *    the truth.
 * 2. After a restart the node has none of the devices until their plugins register again. Pods that run keep theirs.
 * 3. Devices come back when their pod is released.
 */
export class DeviceManager implements HintProvider, DevicePluginReceiver {
  readonly #deps: DeviceManagerDeps;
  readonly #inventory = new DeviceInventory();
  readonly #assigned = new PodDevices();
  readonly #allocation: DeviceAllocation;
  readonly #file: DeviceCheckpointFile;
  #hadCheckpoint = true;
  readonly #listeners = new Set<() => void>();
  #countsText = '';
  #numaNodes: readonly number[] = [0];

  private constructor(deps: DeviceManagerDeps) {
    this.#deps = deps;
    const { isRunning, fs, log, folder } = deps;
    this.#allocation = new DeviceAllocation({ inventory: this.#inventory, assigned: this.#assigned, isRunning });
    const current = () => ({ entries: this.#assigned.entries(), registered: this.#inventory.registered() });
    this.#file = new DeviceCheckpointFile({ fs, log, folder, current });
  }

  /** Reads the checkpoint. A file that cannot be read is logged and ignored, as kubelet does. */
  static async start(deps: DeviceManagerDeps): Promise<DeviceManager> {
    const manager = new DeviceManager(deps);
    const checkpoint = await manager.#file.read();
    manager.#hadCheckpoint = checkpoint !== undefined;
    const failures = manager.#assigned.restore(checkpoint?.entries ?? []);
    for (const { entry, error } of failures) {
      const { podUid, containerName, resourceName } = entry;
      deps.log.error("Can't unmarshal allocResp", { podUid, containerName, resourceName, error });
    }
    for (const resource of checkpoint?.registered.keys() ?? []) {
      manager.#inventory.restore(resource, deps.clock.monotonic());
    }
    manager.#countsText = manager.#textOfCounts();
    return manager;
  }

  /** No checkpoint was found: the machine is new, and extended resources of an existing node object are not its own. */
  get isNewMachine(): boolean {
    return !this.#hadCheckpoint;
  }

  /** The NUMA nodes of the machine, for hints. */
  setNumaNodes(ids: readonly number[]): void {
    this.#numaNodes = ids;
  }

  /** Calls the listener when the node has other devices than before. */
  subscribe(listener: () => void): () => void {
    const each = (): void => listener();
    this.#listeners.add(each);
    return () => void this.#listeners.delete(each);
  }

  connected(plugin: DevicePlugin): void {
    this.#inventory.connected(plugin);
  }

  reported(plugin: DevicePlugin, devices: ReadonlyMap<string, PluginDevice>): void {
    const changed = this.#inventory.reported(plugin, devices);
    this.#file.saveInBackground();
    this.#notifyNode();
    for (const uid of this.#assigned.podsWith(plugin.resourceName, changed)) this.#deps.onPodChanged(uid);
  }

  disconnected(plugin: DevicePlugin): void {
    this.#inventory.disconnected(plugin, this.#deps.clock.monotonic());
    this.#notifyNode();
  }

  concerns(pod: Pod): boolean {
    if (this.#assigned.has(pod.metadata.uid)) return true;
    return containersInOrder(pod).some((each) => this.#allocation.demands(pod, each).size > 0);
  }

  assignedUids(): readonly string[] {
    return this.#assigned.uids;
  }

  containerHints(pod: Pod, container: Container): HintsByResource {
    const { uid } = pod.metadata;
    const demands = this.#allocation.demands(pod, container);
    return this.#hints(demands, (resource) => ({
      has: this.#allocation.idsOf(uid, container.name, resource) ?? NO_IDS,
      reusable: this.#allocation.reusable(pod, container, resource),
    }));
  }

  podHints(pod: Pod): HintsByResource {
    const { uid } = pod.metadata;
    const amounts = [...podLimits({ ...pod, spec: { ...pod.spec, overhead: {} } })];
    const demands = amounts.flatMap(([name, amount]): (readonly [string, number])[] =>
      this.#allocation.isDeviceResource(name) ? [[name, Number(amount.value())]] : [],
    );
    const has = (resource: string): DeviceIds => this.#allocation.idsOfPod(uid, resource);
    return this.#hints(new Map(demands), (resource) => ({ has: has(resource), reusable: NO_IDS }));
  }

  #hints(
    demands: ReadonlyMap<string, number>,
    ofResource: (resource: string) => { readonly has: DeviceIds; readonly reusable: DeviceIds },
  ): HintsByResource {
    const machineNodes = this.#numaNodes;
    const hints = [...demands].map(([resource, requested]): [string, readonly TopologyHint[] | undefined] => {
      const devices = this.#inventory.devices(resource);
      if (!isAligned(devices)) return [resource, undefined];
      const { has, reusable } = ofResource(resource);
      if (has.size > 0) {
        if (has.size !== requested) return [resource, []];
        return [resource, deviceHints({ devices, available: has, reusable: NO_IDS, requested, machineNodes })];
      }
      const available = this.#allocation.available(resource);
      if (available.union(reusable).size < requested) return [resource, []];
      return [resource, deviceHints({ devices, available, reusable, requested, machineNodes })];
    });
    return new Map(hints);
  }

  /** Reserves devices; `settle` assigns them, outside of the lock that the callers of all providers hold. */
  async allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    this.#expire();
    this.#allocation.reserve(pod, container, hint.affinity);
  }

  /**
   * Assigns what is reserved for the pod: calls its plugins and writes the checkpoint. Rejects with kubelet's text, or with
   * the signal's reason after an abort; nothing is reserved for the pod then.
   */
  async settle(pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      if (await this.#allocation.settle(pod, signal)) this.#file.markChanged();
      await this.#file.save();
    } catch (error) {
      this.#allocation.cancel(pod.metadata.uid);
      signal.throwIfAborted();
      throw error instanceof PluginError ? new Error(goErrorText(error), { cause: error }) : error;
    }
  }

  async release(uid: string): Promise<void> {
    if (this.#allocation.release(uid)) this.#file.saveInBackground();
  }

  /** What a container gets. Calls `PreStartContainer` of plugins that require it; rejects with kubelet's text. */
  async runOptions(pod: Pod, container: Container, signal: AbortSignal): Promise<ContainerRunOptions> {
    const { uid } = pod.metadata;
    const demands = this.#allocation.demands(pod, container);
    if (demands.size === 0) return {};
    this.#allocation.reserveMissing(pod, container);
    await this.settle(pod, signal);
    for (const [resource, required] of demands) {
      if (required > 0) await this.#preStart(uid, container.name, resource, signal);
    }
    const assigned = this.#assigned.ofContainer(uid, container.name);
    const { options, conflicts } = deviceRunOptions([...assigned.values()].map(({ response }) => response));
    for (const { kind, key } of conflicts) {
      this.#deps.log.error('device plugins have conflicting settings', { uid, container: container.name, kind, key });
    }
    return options;
  }

  async #preStart(uid: string, container: string, resource: string, signal: AbortSignal): Promise<void> {
    if (!this.#inventory.options(resource)?.preStartRequired) return;
    const ids = this.#assigned.ids(uid, container, resource);
    if (!ids) {
      const where = `pod ${uid}, container ${container}, resource ${resource}`;
      throw new Error(`no devices found allocated in local cache for ${where}`);
    }
    try {
      await this.#inventory.plugin(resource).preStartContainer([...ids], signal);
    } catch (error) {
      signal.throwIfAborted();
      const text = `device plugin PreStartContainer rpc failed with err: ${goErrorText(error)}`;
      throw new Error(text, { cause: error });
    }
  }

  /** What the node status shows. */
  counts(): DeviceCounts {
    this.#expire();
    return this.#inventory.counts();
  }

  /**
   * The devices in use by resource, which a pod that has some may count as the node's, even if their plugin is gone.
   * `undefined`: the pod has none.
   */
  inUseFor(uid: string): ReadonlyMap<string, number> | undefined {
    return this.#assigned.has(uid) ? this.#allocation.inUse() : undefined;
  }

  /** One entry for each device. */
  devices(uid: string, container: string): readonly AssignedDevices[] {
    return [...this.#assigned.ofContainer(uid, container)].flatMap(([resourceName, assigned]) =>
      [...idsOf(assigned)].map((id) => {
        const nodes = [...assigned.devices].filter(([node, ids]) => node !== NO_NUMA_NODE && ids.includes(id));
        return { resourceName, deviceIds: [id], numaNodes: nodes.map(([node]) => node).toSorted((a, b) => a - b) };
      }),
    );
  }

  /** All healthy devices, one entry for each. */
  allocatableDevices(): readonly AssignedDevices[] {
    return [...this.#inventory.registered()].flatMap(([resourceName, ids]) =>
      ids.map((id) => ({
        resourceName,
        deviceIds: [id],
        numaNodes: this.#inventory.devices(resourceName).get(id)?.numaNodes ?? [],
      })),
    );
  }

  /** The field `allocatedResourcesStatus` of a container. */
  resourceHealth(uid: string, container: string): readonly ResourceStatus[] {
    return [...this.#assigned.ofContainer(uid, container)].map(([name, assigned]) => ({
      name,
      resources: [...idsOf(assigned)].map((resourceID) => {
        const { health = HEALTHY } = this.#inventory.devices(name).get(resourceID) ?? {};
        return { resourceID, health: health === HEALTHY ? 'Healthy' : 'Unhealthy' };
      }),
    }));
  }

  #expire(): void {
    if (this.#inventory.expire(this.#deps.clock.monotonic())) this.#file.saveInBackground();
  }

  /** Only when the counts changed: a plugin may report the same devices again and again. */
  #notifyNode(): void {
    const text = this.#textOfCounts();
    if (text === this.#countsText) return;
    this.#countsText = text;
    for (const listener of [...this.#listeners]) listener();
  }

  #textOfCounts(): string {
    const { capacity, allocatable } = this.#inventory.counts();
    return JSON.stringify([...capacity, ...allocatable]);
  }
}
