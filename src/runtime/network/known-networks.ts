import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { type LoadedNetworks, loadNetworks } from './load-networks.ts';
import type { NetworkConfig } from './network-config.ts';
import { askStatus, canBeAsked } from './plugin-chain.ts';
import type { NetworkStatus } from './pod-network.ts';
import type { PluginDeps } from './run-plugin.ts';

const STATUS_MS = 5_000;
/** Kubelet asks every few seconds; who watches it sees a network come and go about as fast as from containerd. */
const STATUS_FRESH_MS = 10_000;
const NOTHING_LOADED: LoadedNetworks = { networks: [], faults: [] };

export interface KnownNetworksDeps {
  readonly fs: FileSystem;
  readonly plugins: PluginDeps;
  readonly confDir: string;
  readonly maxConfigs: number;
  /** Told when other networks or other faults were found. */
  readonly onChange: (loaded: LoadedNetworks) => void;
  /** Told when their plugins have said something else about themselves. */
  readonly onAnswer: () => void;
}

/** The networks as last read, and what their plugins last said about themselves. The one owner of both. */
export class KnownNetworks {
  readonly #deps: KnownNetworksDeps;
  readonly #sequencer = new KeyedMutex();
  #loaded = NOTHING_LOADED;
  #loadedText = JSON.stringify(NOTHING_LOADED);
  #first: Promise<void> | undefined;
  /** What the first plugin without a place for pods said. */
  #unavailable: string | undefined;
  #askedAt = 0;
  /** Those whose plugins are being asked. */
  #asking: readonly NetworkConfig[] | undefined;

  constructor(deps: KnownNetworksDeps) {
    this.#deps = deps;
  }

  get loaded(): LoadedNetworks {
    return this.#loaded;
  }

  /** One after the other: what was read last is what counts. */
  refresh(): Promise<void> {
    const done = this.#sequencer.run('refresh', () => this.#load());
    this.#first ??= done;
    return done;
  }

  /** After the first time they were read. */
  async networks(): Promise<readonly NetworkConfig[]> {
    await (this.#first ?? this.refresh());
    return this.#loaded.networks;
  }

  status(): NetworkStatus {
    const { networks, faults } = this.#loaded;
    if (networks.length === 0) return notReady(notInitialized(faults));
    this.#askAgainWhenOld();
    if (this.#unavailable !== undefined) return notReady(this.#unavailable);
    return { ready: true, networks: networks.map(({ name }) => name) };
  }

  async #load(): Promise<void> {
    const { fs, confDir, maxConfigs, onChange } = this.#deps;
    const loaded = await loadNetworks(fs, confDir, maxConfigs);
    const text = JSON.stringify(loaded);
    if (text === this.#loadedText) return;
    this.#loaded = loaded;
    this.#loadedText = text;
    // As with containerd no network is ready before its plugins have said so; but nobody waits here for one that hangs.
    this.#unavailable = loaded.networks.some(canBeAsked) ? 'its plugins have not told their status yet' : undefined;
    if (this.#unavailable !== undefined) this.#askInBackground();
    onChange(loaded);
  }

  /** Nothing polls: it is asked when somebody wants to know, and told from the next time on. */
  #askAgainWhenOld(): void {
    const { clock } = this.#deps.plugins;
    const { networks } = this.#loaded;
    if (this.#asking === networks || clock.monotonic() - this.#askedAt < STATUS_FRESH_MS) return;
    this.#askInBackground();
  }

  #askInBackground(): void {
    const { networks } = this.#loaded;
    this.#asking = networks;
    void this.#ask(networks).then((unavailable) => {
      if (this.#asking === networks) this.#asking = undefined;
      if (this.#loaded.networks !== networks || this.#unavailable === unavailable) return;
      this.#unavailable = unavailable;
      this.#deps.onAnswer();
    });
  }

  /** Never rejects: a failure is the answer. */
  async #ask(networks: readonly NetworkConfig[]): Promise<string | undefined> {
    const { plugins } = this.#deps;
    this.#askedAt = plugins.clock.monotonic();
    const deadline = plugins.clock.deadline(STATUS_MS);
    const answers = await Promise.allSettled(networks.map((network) => askStatus(network, plugins, deadline)));
    const refusal = answers.find((answer) => answer.status === 'rejected');
    return refusal && errorText(refusal.reason);
  }
}

/** The words by which users know this; why there is none comes after them. */
export function notInitialized(faults: readonly string[]): string {
  return ['cni plugin not initialized', ...faults].join(': ');
}

function notReady(text: string): NetworkStatus {
  return { ready: false, reason: 'NetworkPluginNotReady', message: `Network plugin returns error: ${text}` };
}
