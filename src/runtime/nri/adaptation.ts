import { byCodePoint } from '../../base/code-point-order.ts';
import type { Log } from '../../base/log.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { OciResources, OciSpec } from '../oci/oci-spec.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { FieldOwners } from './field-owners.ts';
import type { ContainerEviction, UpdateContainersRequest, UpdateContainersResponse } from './generated/nri-v1alpha1.ts';
import type { NriAdjusted, NriRuntime, NriUpdate, PodResourcesUpdate } from './nri.ts';
import { nriContainer } from './nri-container.ts';
import type { NriPlugin } from './nri-plugin.ts';
import { nriPod } from './nri-pod.ts';
import { nriPodResources } from './nri-resources.ts';
import { askAll, tellAll } from './relay.ts';
import { type InjectCdiDevices, relayCreate } from './relay-create.ts';
import { relayUpdate } from './relay-update.ts';
import type { PluginHall } from './serve-plugins.ts';
import { snapshot } from './snapshot.ts';
import { synchronizePlugin } from './synchronize-plugin.ts';
import { Told } from './told.ts';
import { nriUpdate, UpdateCollector } from './update-collector.ts';

export interface AdaptationDeps {
  readonly runtime: NriRuntime;
  readonly log: Log;
  readonly injectCdiDevices?: InjectCdiDevices;
}

/** What is undone is undone whatever becomes of who asked for it; each plugin has its time-out. */
const never = new AbortController().signal;

/**
 * Plugins, and what they are told.
 * 1. One request at a time goes to plugins, to one after the other in the order of their index: all see the same order.
 * 2. A plugin joins between two requests, after it was shown all that the others have heard of.
 * 3. Nothing is asked of the runtime while a request is under way: its verbs may be waiting for that.
 */
export class Adaptation implements PluginHall {
  readonly #deps: AdaptationDeps;
  readonly #turns = new KeyedMutex();
  readonly #pods = new Told();
  readonly #containers = new Told();
  readonly #fresh = new Map<string, ContainerRecord>();
  readonly #evictions = new Set<Promise<void>>();
  #plugins: readonly NriPlugin[] = [];

  constructor(deps: AdaptationDeps) {
    this.#deps = deps;
  }

  /** Those that are still there. */
  get plugins(): readonly NriPlugin[] {
    this.#plugins = this.#plugins.filter(({ isLost }) => !isLost);
    return this.#plugins;
  }

  async runPodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    await this.#turn(signal, async () => {
      this.#pods.begin(pod.id);
      try {
        await askAll(this.plugins, 'runPodSandbox', () => ({ pod: nriPod(pod) }), signal);
      } catch (error) {
        await this.#tellPodStop(pod, never);
        await this.#tellPodRemoval(pod, never);
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
    await this.#turn(signal, () => askAll(this.plugins, 'updatePodSandbox', request, signal));
  }

  async stopPodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    await this.#turn(signal, () => this.#tellPodStop(pod, signal));
  }

  async removePodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    await this.#turn(signal, async () => {
      await this.#tellPodStop(pod, signal);
      await this.#tellPodRemoval(pod, signal);
    });
  }

  async createContainer(
    pod: SandboxRecord,
    container: ContainerRecord,
    spec: OciSpec,
    signal: AbortSignal,
  ): Promise<NriAdjusted> {
    const { injectCdiDevices } = this.#deps;
    const { evictions, ...adjusted } = await this.#turn(signal, async () => {
      this.#containers.begin(container.id);
      try {
        const relay = { plugins: this.plugins, pod: nriPod(pod), container, injectCdiDevices };
        const outcome = await relayCreate(relay, spec, signal);
        this.#fresh.set(container.id, { ...container, spec: outcome.spec });
        return outcome;
      } catch (error) {
        await this.#tellContainerStop(pod, container, never);
        await this.#tellContainerRemoval(pod, container, never);
        throw error;
      }
    });
    this.#evict(evictions);
    return adjusted;
  }

  async startContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void> {
    const request = () => ({ pod: nriPod(pod), container: nriContainer(container) });
    await this.#turn(signal, () => askAll(this.plugins, 'startContainer', request, signal));
  }

  async updateContainer(
    pod: SandboxRecord,
    container: ContainerRecord,
    resources: OciResources,
    signal: AbortSignal,
  ): Promise<{ readonly resources: OciResources; readonly updates: readonly NriUpdate[] }> {
    const { evictions, ...wanted } = await this.#turn(signal, () =>
      relayUpdate(this.plugins, nriPod(pod), container, resources, signal),
    );
    this.#evict(evictions);
    return wanted;
  }

  stopContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<readonly NriUpdate[]> {
    return this.#turn(signal, () => this.#tellContainerStop(pod, container, signal));
  }

  async removeContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void> {
    await this.#turn(signal, async () => {
      await this.#tellContainerStop(pod, container, signal);
      await this.#tellContainerRemoval(pod, container, signal);
    });
  }

  async tellPod(method: 'postUpdatePodSandbox', pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    await this.#turn(signal, () => tellAll(this.plugins, method, () => ({ pod: nriPod(pod) }), { log, signal }));
  }

  async tellContainer(
    method: 'postCreateContainer' | 'postStartContainer' | 'postUpdateContainer',
    pod: SandboxRecord,
    container: ContainerRecord,
    signal: AbortSignal,
  ): Promise<void> {
    const { log } = this.#deps;
    this.#fresh.delete(container.id); // the runtime shows it now
    const request = () => ({ pod: nriPod(pod), container: nriContainer(container) });
    await this.#turn(signal, () => tellAll(this.plugins, method, request, { log, signal }));
  }

  /** Lets plugins in that come up together; no request goes out before they are in. */
  async admitTogether(start: () => Promise<readonly NriPlugin[]>, signal: AbortSignal): Promise<void> {
    this.#learn();
    const updates = await this.#turn(signal, async () => {
      const wanted: NriUpdate[] = [];
      for (const plugin of await start()) wanted.push(...(await this.#admit(plugin, signal)));
      return wanted;
    });
    for (const update of updates) await this.#update(update, signal);
  }

  /** Does what a plugin asks without being asked; what failed. */
  async updateContainers({ update, evict }: UpdateContainersRequest): Promise<UpdateContainersResponse> {
    const failed: UpdateContainersResponse['failed'] = [];
    for (const each of update) {
      try {
        await this.#deps.runtime.update(nriUpdate(each), never);
      } catch (error) {
        this.#deps.log.warn('cannot update a container as an NRI plugin wants', { container: each.containerId, error });
        if (!each.ignoreFailure) failed.push(each);
      }
    }
    this.#evict(evict);
    return { failed };
  }

  /** Resolves when nothing of ours is under way any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#evictions);
  }

  #turn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#turns.run('', () => {
      signal.throwIfAborted();
      return work();
    });
  }

  /** What it wants of containers; nothing from one that could not be shown what there is. */
  async #admit(plugin: NriPlugin, signal: AbortSignal): Promise<readonly NriUpdate[]> {
    const { runtime, log } = this.#deps;
    this.#learn();
    try {
      const { pods, containers } = snapshot(runtime, { pods: this.#pods, fresh: this.#fresh });
      const wanted = await synchronizePlugin(plugin, pods, containers, signal);
      const updates = new UpdateCollector(new FieldOwners());
      for (const update of wanted) updates.add(update, plugin.name);
      this.#plugins = [...this.plugins, plugin].toSorted((a, b) => byCodePoint(a.id.index, b.id.index));
      log.info('NRI plugin joined', { plugin: plugin.name });
      return updates.updates();
    } catch (error) {
      log.error('cannot synchronize NRI plugin', { plugin: plugin.name, error });
      plugin.close('the plugin was not synchronized');
      return [];
    }
  }

  /** What an earlier life of ours left counts as told. */
  #learn(): void {
    for (const { id, state } of this.#deps.runtime.sandboxes()) {
      if (state.phase !== 'creating') this.#pods.learn(id, state.phase === 'notReady' ? 'stopped' : 'alive');
    }
    for (const { id, state } of this.#deps.runtime.containers()) {
      if (state.phase !== 'creating') this.#containers.learn(id, state.phase === 'exited' ? 'stopped' : 'alive');
    }
  }

  async #update(update: NriUpdate, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.runtime.update(update, signal);
    } catch (error) {
      this.#deps.log.warn('cannot update a container as an NRI plugin wants', { container: update.containerId, error });
    }
  }

  /** Nobody waits for it: who asked may hold what the eviction needs. */
  #evict(evictions: readonly ContainerEviction[]): void {
    const { runtime, log } = this.#deps;
    for (const { containerId, reason } of evictions) {
      const task = runtime
        .evict(containerId, reason, never)
        .catch((error: unknown) => log.warn('cannot evict a container', { container: containerId, reason, error }))
        .finally(() => this.#evictions.delete(task));
      this.#evictions.add(task);
    }
  }

  async #tellPodStop(pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    if (!this.#pods.stop(pod.id)) return;
    await tellAll(this.plugins, 'stopPodSandbox', () => ({ pod: nriPod(pod) }), { log, signal });
  }

  async #tellPodRemoval(pod: SandboxRecord, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    if (!this.#pods.remove(pod.id)) return;
    await tellAll(this.plugins, 'removePodSandbox', () => ({ pod: nriPod(pod) }), { log, signal });
  }

  async #tellContainerStop(
    pod: SandboxRecord,
    container: ContainerRecord,
    signal: AbortSignal,
  ): Promise<readonly NriUpdate[]> {
    const { log } = this.#deps;
    this.#fresh.delete(container.id);
    if (!this.#containers.stop(container.id)) return [];
    const request = () => ({ pod: nriPod(pod), container: nriContainer(container) });
    const answers = await tellAll(this.plugins, 'stopContainer', request, { log, signal });
    const updates = new UpdateCollector(new FieldOwners());
    for (const { plugin, response } of answers) {
      for (const update of response.update) updates.add({ ...update, ignoreFailure: true }, plugin);
    }
    return updates.updates();
  }

  async #tellContainerRemoval(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    if (!this.#containers.remove(container.id)) return;
    const request = () => ({ pod: nriPod(pod), container: nriContainer(container) });
    await tellAll(this.plugins, 'removeContainer', request, { log, signal });
  }
}
