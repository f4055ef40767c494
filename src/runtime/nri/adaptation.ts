import { byCodePoint } from '../../base/code-point-order.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Log } from '../../base/log.ts';
import type { OciResources, OciSpec } from '../oci/oci-spec.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { FieldOwners } from './field-owners.ts';
import type { ContainerEviction, UpdateContainersRequest, UpdateContainersResponse } from './generated/nri-v1alpha1.ts';
import { NotifiedObjects } from './notified-objects.ts';
import type { AdjustedContainer, NriRuntime, NriUpdate, PodResourcesUpdate } from './nri.ts';
import { nriContainer } from './nri-container.ts';
import type { NriPlugin } from './nri-plugin.ts';
import { nriPod } from './nri-pod.ts';
import { nriPodResources } from './nri-resources.ts';
import { callAll, notifyAll } from './relay.ts';
import { type InjectCdiDevices, relayCreate } from './relay-create.ts';
import { relayUpdate } from './relay-update.ts';
import type { PluginHost } from './serve-plugins.ts';
import { takeSnapshot } from './snapshot.ts';
import { synchronizePlugin } from './synchronize-plugin.ts';
import { nriUpdate, UpdateCollector } from './update-collector.ts';

export interface AdaptationDeps {
  readonly runtime: NriRuntime;
  readonly log: Log;
  readonly injectCdiDevices?: InjectCdiDevices;
}

/** Undo steps run even if the caller has gone; each plugin call has its time-out. */
const never = new AbortController().signal;

/**
 * Relays requests and events to plugins.
 * 1. Requests are serialized, and each goes to the plugins in the order of their index: all plugins see the same order.
 * 2. A plugin joins between two requests, after it was sent everything that the others know.
 * 3. The runtime is not called while a request is in progress: its operations may be waiting for that.
 */
export class Adaptation implements PluginHost {
  readonly #deps: AdaptationDeps;
  readonly #mutex = new KeyedMutex();
  readonly #pods = new NotifiedObjects();
  readonly #containers = new NotifiedObjects();
  readonly #unlisted = new Map<string, ContainerRecord>();
  readonly #evictions = new Set<Promise<void>>();
  #plugins: readonly NriPlugin[] = [];

  constructor(deps: AdaptationDeps) {
    this.#deps = deps;
  }

  /** The connected plugins. */
  get plugins(): readonly NriPlugin[] {
    this.#plugins = this.#plugins.filter(({ isLost }) => !isLost);
    return this.#plugins;
  }

  async runPodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    await this.#serialize(signal, async () => {
      this.#pods.add(pod.id);
      try {
        await callAll(this.plugins, 'runPodSandbox', () => ({ pod: nriPod(pod) }), signal);
      } catch (error) {
        await this.#notifyPodStop(pod, never);
        await this.#notifyPodRemoval(pod, never);
        throw error;
      }
    });
  }

  async updatePodSandbox(pod: SandboxRecord, update: PodResourcesUpdate, signal: AbortSignal): Promise<void> {
    const request = () => ({
      pod: nriPod(pod),
      overheadLinuxResources: nriPodResources(update.overhead),
      linuxResources: nriPodResources(update.resources),
    });
    await this.#serialize(signal, () => callAll(this.plugins, 'updatePodSandbox', request, signal));
  }

  async stopPodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    await this.#serialize(signal, () => this.#notifyPodStop(pod, signal));
  }

  async removePodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    await this.#serialize(signal, async () => {
      await this.#notifyPodStop(pod, signal);
      await this.#notifyPodRemoval(pod, signal);
    });
  }

  async createContainer(
    pod: SandboxRecord,
    container: ContainerRecord,
    spec: OciSpec,
    signal: AbortSignal,
  ): Promise<AdjustedContainer> {
    const { injectCdiDevices } = this.#deps;
    const { evictions, ...adjusted } = await this.#serialize(signal, async () => {
      this.#containers.add(container.id);
      try {
        const relay = { plugins: this.plugins, pod: nriPod(pod), container, injectCdiDevices };
        const outcome = await relayCreate(relay, spec, signal);
        this.#unlisted.set(container.id, { ...container, spec: outcome.spec });
        return outcome;
      } catch (error) {
        await this.#notifyContainerStop(pod, container, never);
        await this.#notifyContainerRemoval(pod, container, never);
        throw error;
      }
    });
    this.#evict(evictions);
    return adjusted;
  }

  async startContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void> {
    const request = () => ({ pod: nriPod(pod), container: nriContainer(container) });
    await this.#serialize(signal, () => callAll(this.plugins, 'startContainer', request, signal));
  }

  async updateContainer(
    pod: SandboxRecord,
    container: ContainerRecord,
    resources: OciResources,
    signal: AbortSignal,
  ): Promise<{ readonly resources: OciResources; readonly updates: readonly NriUpdate[] }> {
    const { evictions, ...outcome } = await this.#serialize(signal, () =>
      relayUpdate(this.plugins, nriPod(pod), container, resources, signal),
    );
    this.#evict(evictions);
    return outcome;
  }

  stopContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<readonly NriUpdate[]> {
    return this.#serialize(signal, () => this.#notifyContainerStop(pod, container, signal));
  }

  async removeContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void> {
    await this.#serialize(signal, async () => {
      await this.#notifyContainerStop(pod, container, signal);
      await this.#notifyContainerRemoval(pod, container, signal);
    });
  }

  async notifyPod(method: 'postUpdatePodSandbox', pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    await this.#serialize(signal, () => notifyAll(this.plugins, method, () => ({ pod: nriPod(pod) }), { log, signal }));
  }

  async notifyContainer(
    method: 'postCreateContainer' | 'postStartContainer' | 'postUpdateContainer',
    pod: SandboxRecord,
    container: ContainerRecord,
    signal: AbortSignal,
  ): Promise<void> {
    const { log } = this.#deps;
    this.#unlisted.delete(container.id); // the runtime lists it now
    const request = () => ({ pod: nriPod(pod), container: nriContainer(container) });
    await this.#serialize(signal, () => notifyAll(this.plugins, method, request, { log, signal }));
  }

  /** Admits plugins that start together; no request is sent before they have joined. */
  async admit(start: () => Promise<readonly NriPlugin[]>, signal: AbortSignal): Promise<void> {
    this.#addExisting();
    const updates = await this.#serialize(signal, async () => {
      const outcome: NriUpdate[] = [];
      for (const plugin of await start()) outcome.push(...(await this.#admit(plugin, signal)));
      return outcome;
    });
    for (const update of updates) await this.#update(update, signal);
  }

  /** Handles an unsolicited update of a plugin; returns the failed updates. */
  async updateContainers({ update, evict }: UpdateContainersRequest): Promise<UpdateContainersResponse> {
    const failed: UpdateContainersResponse['failed'] = [];
    for (const each of update) {
      try {
        await this.#deps.runtime.update(nriUpdate(each), never);
      } catch (error) {
        this.#deps.log.warn('cannot update container for NRI plugin', { container: each.containerId, error });
        if (!each.ignoreFailure) failed.push(each);
      }
    }
    this.#evict(evict);
    return { failed };
  }

  /** Resolves when all evictions are done. */
  async waitForEvictions(): Promise<void> {
    await Promise.all(this.#evictions);
  }

  #serialize<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#mutex.run('', () => {
      signal.throwIfAborted();
      return work();
    });
  }

  /** Synchronizes a plugin and returns its updates; none if the synchronization failed. */
  async #admit(plugin: NriPlugin, signal: AbortSignal): Promise<readonly NriUpdate[]> {
    const { runtime, log } = this.#deps;
    this.#addExisting();
    try {
      const { pods, containers } = takeSnapshot(runtime, { pods: this.#pods, unlisted: this.#unlisted });
      const outcome = await synchronizePlugin(plugin, pods, containers, signal);
      const updates = new UpdateCollector(new FieldOwners());
      for (const update of outcome) updates.add(update, plugin.name);
      this.#plugins = [...this.plugins, plugin].toSorted((a, b) => byCodePoint(a.id.index, b.id.index));
      log.info('NRI plugin joined', { plugin: plugin.name });
      return updates.updates();
    } catch (error) {
      log.error('cannot synchronize NRI plugin', { plugin: plugin.name, error });
      plugin.close('synchronization failed');
      return [];
    }
  }

  /** Objects of a previous process count as known to the plugins. */
  #addExisting(): void {
    for (const { id, state } of this.#deps.runtime.sandboxes()) {
      if (state.phase !== 'creating') this.#pods.addExisting(id, state.phase === 'notReady' ? 'stopped' : 'alive');
    }
    for (const { id, state } of this.#deps.runtime.containers()) {
      if (state.phase !== 'creating') this.#containers.addExisting(id, state.phase === 'exited' ? 'stopped' : 'alive');
    }
  }

  async #update(update: NriUpdate, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.runtime.update(update, signal);
    } catch (error) {
      this.#deps.log.warn('cannot update container for NRI plugin', { container: update.containerId, error });
    }
  }

  /** Not awaited: the caller may hold what the eviction needs. */
  #evict(evictions: readonly ContainerEviction[]): void {
    const { runtime, log } = this.#deps;
    for (const { containerId, reason } of evictions) {
      const task = runtime
        .evict(containerId, reason, never)
        .catch((error: unknown) => log.warn('cannot evict container', { container: containerId, reason, error }))
        .finally(() => this.#evictions.delete(task));
      this.#evictions.add(task);
    }
  }

  async #notifyPodStop(pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    if (!this.#pods.markStopped(pod.id)) return;
    await notifyAll(this.plugins, 'stopPodSandbox', () => ({ pod: nriPod(pod) }), { log, signal });
  }

  async #notifyPodRemoval(pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    if (!this.#pods.markRemoved(pod.id)) return;
    await notifyAll(this.plugins, 'removePodSandbox', () => ({ pod: nriPod(pod) }), { log, signal });
  }

  async #notifyContainerStop(
    pod: SandboxRecord,
    container: ContainerRecord,
    signal: AbortSignal,
  ): Promise<readonly NriUpdate[]> {
    const { log } = this.#deps;
    this.#unlisted.delete(container.id);
    if (!this.#containers.markStopped(container.id)) return [];
    const request = () => ({ pod: nriPod(pod), container: nriContainer(container) });
    const answers = await notifyAll(this.plugins, 'stopContainer', request, { log, signal });
    const updates = new UpdateCollector(new FieldOwners());
    for (const { plugin, response } of answers) {
      for (const update of response.update) updates.add({ ...update, ignoreFailure: true }, plugin);
    }
    return updates.updates();
  }

  async #notifyContainerRemoval(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    if (!this.#containers.markRemoved(container.id)) return;
    const request = () => ({ pod: nriPod(pod), container: nriContainer(container) });
    await notifyAll(this.plugins, 'removeContainer', request, { log, signal });
  }
}
