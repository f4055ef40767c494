import { dirname } from 'node:path';
import { mapInBatches } from '../../base/map-in-batches.ts';
import type { Log } from '../../base/log.ts';
import { DEFAULT_PATH } from '../../base/default-path.ts';
import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Processes } from '../../host/processes.ts';
import type { NetworkSettings } from '../settings/runtime-settings.ts';
import { type AttachedPod, type Attachment, attachmentsTo, cniArgs } from './attachment.ts';
import { type AttachmentCache, type KeptPod, openAttachmentCache } from './attachment-cache.ts';
import { capabilityArgs } from './capability-args.ts';
import { addressesOf, inOrderOfPreference } from './cni-result.ts';
import { ExclusiveGate } from './exclusive-gate.ts';
import { followFolder } from './follow-folder.ts';
import { KnownNetworks, notInitialized } from './known-networks.ts';
import { endLeftPlugins, type LeftPluginDeps } from './left-plugins.ts';
import type { LoadedNetworks } from './load-networks.ts';
import type { NetworkConfig } from './network-config.ts';
import { addToNetwork, checkOnNetwork, collectNetwork, deleteFromNetwork, isCollectable } from './plugin-chain.ts';
import type { NetworkedPod, PodAddresses, PodNetwork } from './pod-network.ts';
import type { PluginDeps } from './run-plugin.ts';

export interface PodNetworkDeps {
  readonly settings: NetworkSettings;
  readonly cacheDir: string;
  readonly fs: FileSystem;
  readonly processes: Pick<Processes, 'run'> & LeftPluginDeps['processes'];
  readonly clock: Clock;
  readonly log: Log;
  /** What plugins inherit beside CNI's variables. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The networks of pods through CNI, and what only some callers want to know of them. */
export interface CniPodNetwork extends PodNetwork {
  /** CHECK on every network of which a result is kept: rejects when one is not as ADD left it. */
  check(pod: Pick<NetworkedPod, 'sandboxId'>, signal: AbortSignal): Promise<void>;
  /** For verbose status. */
  configurations(): LoadedNetworks;
  /** Calls back when `status` may be another than before. Returns the function that ends it. */
  subscribe(listener: () => void): () => void;
}

/** After a reboot every pod of before is to be deleted. */
const COLLECT_AT_ONCE = 8;
/** No pod gets a network meanwhile; a plugin that hangs then has ten seconds more (run-plugin.ts). */
const GC_MS = 50_000;
const WATCH_AGAIN_MS = 10_000;
const PLUGIN_ENVIRONMENT = { PATH: DEFAULT_PATH };

export function createPodNetwork(deps: PodNetworkDeps): CniPodNetwork {
  return new CniNetworks(deps);
}

class CniNetworks implements CniPodNetwork {
  readonly #deps: PodNetworkDeps;
  readonly #plugins: PluginDeps;
  readonly #known: KnownNetworks;
  readonly #cache: AttachmentCache;
  /** Set up in this life and not torn down yet: a list of live sandboxes may be older than they are. */
  readonly #ours = new Set<string>();
  /** CNI's rule: no ADD or DEL while GC runs. */
  readonly #gate = new ExclusiveGate();
  readonly #listeners = new Set<() => void>();
  #podCidr: string | undefined;

  constructor(deps: PodNetworkDeps) {
    const { settings, fs, processes, clock, log, environment = PLUGIN_ENVIRONMENT } = deps;
    this.#deps = deps;
    this.#plugins = { processes, clock, binDirs: settings.binDirs, environment };
    this.#cache = openAttachmentCache(fs, deps.cacheDir);
    const { confDir, maxConfigs } = settings;
    const onChange = ({ networks, faults }: LoadedNetworks): void => {
      log.info('pod networks changed', { networks: networks.map(({ name }) => name) });
      for (const fault of faults) log.warn('network configuration passed over', { fault });
      this.#turned();
    };
    const onAnswer = (): void => this.#turned();
    this.#known = new KnownNetworks({ fs, plugins: this.#plugins, confDir, maxConfigs, onChange, onAnswer });
  }

  status = () => this.#known.status();
  refresh = () => this.#known.refresh();
  configurations = () => this.#known.loaded;

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  setPodCidr(podCidr: string): void {
    this.#podCidr = podCidr === '' ? undefined : podCidr;
  }

  async setUp(pod: NetworkedPod, signal: AbortSignal): Promise<PodAddresses> {
    const networks = await this.#known.networks();
    if (networks.length === 0) throw new Error(notInitialized(this.#known.loaded.faults));
    const intent = { pod: this.#attachedPod(pod), attachments: attachmentsTo(networks) };
    this.#ours.add(pod.sandboxId);
    await this.#cache.write(intent);
    const { attachments, failures } = await this.#gate.together(() => this.#add(intent, signal), signal);
    await this.#cache.write({ pod: intent.pod, attachments });
    if (failures.length > 0) throw asOne(failures);
    return this.#addressesOf(attachments);
  }

  async tearDown(pod: NetworkedPod, signal: AbortSignal): Promise<void> {
    const kept = await this.#cache.read(pod.sandboxId);
    if (kept === 'damaged') await this.#delete(await this.#guessed(this.#attachedPod(pod)), signal);
    else if (kept) await this.#delete(kept, signal);
    this.#ours.delete(pod.sandboxId);
  }

  async check({ sandboxId }: Pick<NetworkedPod, 'sandboxId'>, signal: AbortSignal): Promise<void> {
    const kept = await this.#cache.read(sandboxId);
    if (kept === undefined || kept === 'damaged') throw new Error(`no network is kept for sandbox ${sandboxId}`);
    for (const attachment of kept.attachments) await checkOnNetwork(attachment, kept.pod, this.#plugins, signal);
  }

  async collect(liveSandboxIds: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const isLive = (sandboxId: string): boolean => liveSandboxIds.has(sandboxId) || this.#ours.has(sandboxId);
    const failures: unknown[] = [];
    await this.#cache.sweep((sandboxId) => this.#ours.has(sandboxId)).catch((error: unknown) => failures.push(error));
    await mapInBatches(await this.#cache.sandboxIds(), COLLECT_AT_ONCE, async (sandboxId) => {
      if (isLive(sandboxId)) return;
      try {
        const kept = await this.#keptBy(sandboxId);
        if (kept) await this.#delete(kept, signal);
      } catch (error) {
        failures.push(error);
      }
    });
    const networks = (await this.#known.networks()).filter(isCollectable);
    if (networks.length > 0) {
      const alone = () => this.#collectGarbage(networks, AbortSignal.any([signal, this.#deps.clock.deadline(GC_MS)]));
      failures.push(...(await this.#gate.alone(alone, signal)));
    }
    if (failures.length > 0) throw new AggregateError(failures, 'cannot clean up pod networks');
  }

  async run(signal: AbortSignal): Promise<void> {
    const { fs, clock, log, settings } = this.#deps;
    while (!signal.aborted) {
      try {
        for await (const _ of followFolder(fs, settings.confDir, signal)) await this.#known.refresh();
      } catch (error) {
        if (signal.aborted) return;
        log.warn('cannot watch the network configurations', { error });
        await clock.sleep(WATCH_AGAIN_MS, signal).catch(() => {});
      }
    }
  }

  #attachedPod(pod: NetworkedPod): AttachedPod {
    const { sandboxId, namespacePath } = pod;
    return { sandboxId, namespacePath, args: cniArgs(pod), capabilityArgs: capabilityArgs(pod, this.#podCidr) };
  }

  async #collectGarbage(networks: readonly NetworkConfig[], signal: AbortSignal): Promise<unknown[]> {
    // Also what could not be deleted just now: its DEL is still to come, with all that is kept of it.
    const kept = await Promise.all((await this.#cache.sandboxIds()).map((sandboxId) => this.#keptBy(sandboxId)));
    const failures: unknown[] = [];
    for (const network of networks) {
      const valid = kept.flatMap((one) => (one ? validOn(network, one) : []));
      failures.push(...(await collectNetwork(network, valid, this.#plugins, signal)));
    }
    return failures;
  }

  async #keptBy(sandboxId: string): Promise<KeptPod | undefined> {
    const kept = await this.#cache.read(sandboxId);
    return kept === 'damaged' ? this.#guessed(podKnownByName(sandboxId)) : kept;
  }

  /** What is kept cannot be read: DEL on the networks of now is the best there is. */
  async #guessed(pod: AttachedPod): Promise<KeptPod> {
    return { pod, attachments: attachmentsTo(await this.#known.networks()) };
  }

  /** All networks end before it answers: nothing of a pod goes on behind the caller's back. */
  #turned(): void {
    for (const listener of this.#listeners) listener();
  }

  async #add({ pod, attachments }: KeptPod, signal: AbortSignal) {
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

  /** What is kept goes when every network is rid of the pod; until then all of them are asked each time. */
  async #delete({ pod, attachments }: KeptPod, signal: AbortSignal): Promise<void> {
    // Who set it up may have died with an ADD at work: a DEL beside it would find nothing yet.
    const mayBeAtWork = !this.#ours.has(pod.sandboxId) && attachments.some(({ result }) => result === undefined);
    if (mayBeAtWork) await endLeftPlugins(pod.sandboxId, this.#deps, signal);
    const place = { ...pod, namespacePath: await this.#livingNamespace(pod.namespacePath) };
    const failures: unknown[] = [];
    for (const attachment of attachments.toReversed()) {
      const work = (): Promise<void> => deleteFromNetwork(attachment, place, this.#plugins, signal);
      await this.#gate.together(work, signal).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw asOne(failures);
    await this.#cache.remove(pod.sandboxId);
  }

  /**
   * CNI wants no path when the namespace is gone. A pinned one is a mount, and so on another device than its folder: the
   * file that it was pinned to may outlast it, and plugins fail on that.
   */
  async #livingNamespace(path: string): Promise<string> {
    if (path === '') return '';
    const [file, folder] = await Promise.all([this.#deps.fs.stat(path), this.#deps.fs.stat(dirname(path))]);
    return file !== undefined && file.device !== folder?.device ? path : '';
  }

  #addressesOf(attachments: readonly Attachment[]): PodAddresses {
    const [first] = attachments;
    const ips = first?.result ? addressesOf(first.result, first.interfaceName) : [];
    const [ip, ...others] = inOrderOfPreference(ips, this.#deps.settings.ipPreference);
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

/** Its message alone names every network that failed. */
function asOne(failures: readonly unknown[]): unknown {
  if (failures.length === 1) return failures[0];
  return new Error(failures.map(errorText).join('; '), { cause: new AggregateError(failures) });
}

function podKnownByName(sandboxId: string): AttachedPod {
  const args = `IgnoreUnknown=1;K8S_POD_INFRA_CONTAINER_ID=${sandboxId}`;
  return { sandboxId, namespacePath: '', args, capabilityArgs: {} };
}

function validOn({ name }: NetworkConfig, { pod, attachments }: KeptPod) {
  return attachments
    .filter(({ network }) => network.name === name)
    .map(({ interfaceName }) => ({ containerID: pod.sandboxId, ifname: interfaceName }));
}
