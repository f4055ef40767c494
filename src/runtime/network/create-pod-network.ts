import { dirname } from 'node:path';
import { DEFAULT_PATH } from '../../base/default-path.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import { mapInBatches } from '../../base/map-in-batches.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Processes } from '../../host/processes.ts';
import type { NetworkSettings } from '../settings/runtime-settings.ts';
import { type AttachedPod, type Attachment, cniArgs, newAttachments } from './attachment.ts';
import { type AttachmentCache, type CachedPod, openAttachmentCache } from './attachment-cache.ts';
import { capabilityArgs } from './capability-args.ts';
import { interfaceAddresses, sortByPreference } from './cni-result.ts';
import { type LeftoverPluginDeps, waitForLeftoverPlugins } from './leftover-plugins.ts';
import type { LoadedNetworks } from './load-networks.ts';
import type { NetworkConfig } from './network-config.ts';
import { notInitializedMessage } from './network-state.ts';
import { NetworkStates } from './network-states.ts';
import { addToNetwork, checkOnNetwork, collectNetwork, deleteFromNetwork, supportsGc } from './plugin-chain.ts';
import type { NetworkedPod, PodAddresses, PodNetwork } from './pod-network.ts';
import { ReadWriteLock } from './read-write-lock.ts';
import type { PluginDeps } from './run-plugin.ts';

export interface PodNetworkDeps {
  readonly settings: NetworkSettings;
  readonly cacheDir: string;
  readonly fs: FileSystem;
  readonly processes: Pick<Processes, 'run'> & LeftoverPluginDeps['processes'];
  readonly clock: Clock;
  readonly log: Log;
  /** The environment of plugins besides CNI's variables. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The CNI implementation, with operations that only some callers need. */
export interface CniPodNetwork extends PodNetwork {
  /** Runs CHECK on every network with a cached result. Rejects if one is no longer as ADD left it. */
  check(pod: Pick<NetworkedPod, 'sandboxId'>, signal: AbortSignal): Promise<void>;
  /** For verbose status. */
  configurations(): LoadedNetworks;
  /** Calls back when `status` may have changed. Returns the unsubscribe function. */
  subscribe(listener: () => void): () => void;
}

/** After a reboot every earlier pod must be deleted. */
const COLLECT_CONCURRENCY = 8;
/** No ADD runs during GC; a plugin that hangs gets ten more seconds (run-plugin.ts). */
const GC_MS = 50_000;
const PLUGIN_ENVIRONMENT = { PATH: DEFAULT_PATH };

export function createPodNetwork(deps: PodNetworkDeps): CniPodNetwork {
  return new CniNetworks(deps);
}

class CniNetworks implements CniPodNetwork {
  readonly #deps: PodNetworkDeps;
  readonly #plugins: PluginDeps;
  readonly #states: NetworkStates;
  readonly #cache: AttachmentCache;
  /**
   * Sandboxes set up by this process and not torn down yet: a caller's list of live sandboxes may be older than them.
   */
  readonly #ownSandboxes = new Set<string>();
  /** CNI's rule: no ADD or DEL while GC runs. */
  readonly #lock = new ReadWriteLock();
  readonly #listeners = new Set<() => void>();
  #podCidr: string | undefined;

  constructor(deps: PodNetworkDeps) {
    const { settings, fs, processes, clock, environment = PLUGIN_ENVIRONMENT } = deps;
    this.#deps = deps;
    this.#plugins = { processes, fs, clock, binDirs: settings.binDirs, environment };
    this.#cache = openAttachmentCache(fs, deps.cacheDir);
    this.#states = new NetworkStates({ ...deps, plugins: this.#plugins, onChange: () => this.#notify() });
  }

  status = () => this.#states.default.status();
  handlerStatuses = () => this.#states.handlerStatuses();
  refresh = () => this.#states.refresh();
  configurations = () => this.#states.default.loaded;

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  setPodCidr(podCidr: string): void {
    this.#podCidr = podCidr === '' ? undefined : podCidr;
  }

  async setUp(pod: NetworkedPod, signal: AbortSignal): Promise<PodAddresses> {
    const state = this.#states.forHandler(pod.runtimeHandler);
    const networks = await state.networks();
    if (networks.length === 0) throw new Error(notInitializedMessage(state.loaded.errors));
    const intent = { pod: this.#attachedPod(pod), attachments: newAttachments(networks) };
    this.#ownSandboxes.add(pod.sandboxId);
    await this.#cache.write(intent);
    const { attachments, failures } = await this.#lock.shared(() => this.#add(intent, signal), signal);
    await this.#cache.write({ pod: intent.pod, attachments });
    if (failures.length > 0) throw combineErrors(failures);
    return this.#addressesOf(attachments);
  }

  async tearDown(pod: NetworkedPod, signal: AbortSignal): Promise<void> {
    const cached = await this.#cache.read(pod.sandboxId);
    if (cached === 'damaged') await this.#delete(await this.#assumedPod(this.#attachedPod(pod)), signal);
    else if (cached) await this.#delete(cached, signal);
    this.#ownSandboxes.delete(pod.sandboxId);
  }

  async check({ sandboxId }: Pick<NetworkedPod, 'sandboxId'>, signal: AbortSignal): Promise<void> {
    const cached = await this.#cache.read(sandboxId);
    if (cached === undefined || cached === 'damaged') throw new Error(`no cached network of sandbox ${sandboxId}`);
    for (const attachment of cached.attachments) await checkOnNetwork(attachment, cached.pod, this.#plugins, signal);
  }

  async collectGarbage(liveSandboxIds: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const isLive = (sandboxId: string): boolean => liveSandboxIds.has(sandboxId) || this.#ownSandboxes.has(sandboxId);
    const failures: unknown[] = [];
    await this.#cache
      .sweep((sandboxId) => this.#ownSandboxes.has(sandboxId))
      .catch((error: unknown) => failures.push(error));
    await mapInBatches(await this.#cache.sandboxIds(), COLLECT_CONCURRENCY, async (sandboxId) => {
      if (isLive(sandboxId)) return;
      try {
        const cached = await this.#cachedPod(sandboxId);
        if (cached) await this.#delete(cached, signal);
      } catch (error) {
        failures.push(error);
      }
    });
    const networks = (await this.#states.networks()).filter(supportsGc);
    if (networks.length > 0) {
      const alone = () => this.#collectGarbage(networks, AbortSignal.any([signal, this.#deps.clock.deadline(GC_MS)]));
      failures.push(...(await this.#lock.exclusive(alone, signal)));
    }
    if (failures.length > 0) throw new AggregateError(failures, 'cannot clean up pod networks');
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#states.run(signal);
  }

  #attachedPod(pod: NetworkedPod): AttachedPod {
    const { sandboxId, namespacePath } = pod;
    return { sandboxId, namespacePath, args: cniArgs(pod), capabilityArgs: capabilityArgs(pod, this.#podCidr) };
  }

  async #collectGarbage(networks: readonly NetworkConfig[], signal: AbortSignal): Promise<unknown[]> {
    // Includes attachments whose DEL failed just now: it will be retried, with everything in the cache.
    const cached = await Promise.all((await this.#cache.sandboxIds()).map((sandboxId) => this.#cachedPod(sandboxId)));
    const failures: unknown[] = [];
    for (const network of networks) {
      const valid = cached.flatMap((one) => (one ? validAttachments(network, one) : []));
      failures.push(...(await collectNetwork(network, valid, this.#plugins, signal)));
    }
    return failures;
  }

  async #cachedPod(sandboxId: string): Promise<CachedPod | undefined> {
    const cached = await this.#cache.read(sandboxId);
    return cached === 'damaged' ? this.#assumedPod(podOfSandboxId(sandboxId)) : cached;
  }

  /** The cached attachments cannot be read: DEL on the current networks is the best substitute. */
  async #assumedPod(pod: AttachedPod): Promise<CachedPod> {
    return { pod, attachments: await this.#states.possibleAttachments() };
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Waits for all networks: no plugin of the pod runs after it returns. */
  async #add({ pod, attachments }: CachedPod, signal: AbortSignal) {
    const failures: unknown[] = [];
    const add = async (attachment: Attachment): Promise<Attachment> => {
      try {
        return { ...attachment, result: await addToNetwork(attachment, pod, this.#plugins, signal) };
      } catch (error) {
        failures.push(error);
        return attachment;
      }
    };
    if (!this.#deps.settings.setUpSerially) return { attachments: await Promise.all(attachments.map(add)), failures };
    const added: Attachment[] = [];
    for (const attachment of attachments) added.push(failures.length === 0 ? await add(attachment) : attachment);
    return { attachments: added, failures };
  }

  /** Removes the cache entry after DEL succeeded on every network; until then each attempt runs DEL on all of them. */
  async #delete({ pod, attachments }: CachedPod, signal: AbortSignal): Promise<void> {
    // An ADD of a killed process may still be running: a concurrent DEL would find nothing to delete.
    const mayHaveRunningAdd =
      !this.#ownSandboxes.has(pod.sandboxId) && attachments.some(({ result }) => result === undefined);
    if (mayHaveRunningAdd) await waitForLeftoverPlugins(pod.sandboxId, this.#deps, signal);
    const target = { ...pod, namespacePath: await this.#existingNamespace(pod.namespacePath) };
    const failures: unknown[] = [];
    for (const attachment of attachments.toReversed()) {
      const work = (): Promise<void> => deleteFromNetwork(attachment, target, this.#plugins, signal);
      await this.#lock.shared(work, signal).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw combineErrors(failures);
    await this.#cache.remove(pod.sandboxId);
  }

  /**
   * CNI requires an empty path if the namespace is gone. A pinned namespace is a mount, so its device differs from its
   * directory's. The file that it was pinned to may still exist, and plugins fail on that.
   */
  async #existingNamespace(path: string): Promise<string> {
    if (path === '') return '';
    const [file, folder] = await Promise.all([this.#deps.fs.stat(path), this.#deps.fs.stat(dirname(path))]);
    return file !== undefined && file.device !== folder?.device ? path : '';
  }

  #addressesOf(attachments: readonly Attachment[]): PodAddresses {
    const [first] = attachments;
    const ips = first?.result ? interfaceAddresses(first.result, first.interfaceName) : [];
    const [ip, ...others] = sortByPreference(ips, this.#deps.settings.ipPreference);
    if (ip === undefined) {
      throw new Error(`network ${JSON.stringify(first?.network.name)} gave the pod no address on eth0`);
    }
    const results = attachments.map(({ network, interfaceName, result }) => [
      `${network.name}/${interfaceName}`,
      result,
    ]);
    return { ips: [ip, ...others], results: Object.fromEntries(results) };
  }
}

/** The message names every network that failed. */
function combineErrors(failures: readonly unknown[]): unknown {
  if (failures.length === 1) return failures[0];
  return new Error(failures.map(errorText).join('; '), { cause: new AggregateError(failures) });
}

function podOfSandboxId(sandboxId: string): AttachedPod {
  const args = `IgnoreUnknown=1;K8S_POD_INFRA_CONTAINER_ID=${sandboxId}`;
  return { sandboxId, namespacePath: '', args, capabilityArgs: {} };
}

function validAttachments({ name }: NetworkConfig, { pod, attachments }: CachedPod) {
  return attachments
    .filter(({ network }) => network.name === name)
    .map(({ interfaceName }) => ({ containerID: pod.sandboxId, ifname: interfaceName }));
}
