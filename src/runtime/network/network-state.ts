import { errorText } from '../../base/error-text.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { type LoadedNetworks, loadNetworks } from './load-networks.ts';
import type { NetworkConfig } from './network-config.ts';
import { checkStatus, supportsStatus } from './plugin-chain.ts';
import type { NetworkStatus } from './pod-network.ts';
import type { PluginDeps } from './run-plugin.ts';

const STATUS_TIMEOUT_MS = 5_000;
/** Kubelet asks every few seconds; changes become visible about as fast as with containerd. */
const STATUS_MAX_AGE_MS = 10_000;
const NOTHING_LOADED: LoadedNetworks = { networks: [], errors: [] };

export interface NetworkStateDeps {
  readonly fs: FileSystem;
  readonly plugins: PluginDeps;
  readonly confDir: string;
  readonly maxConfigs: number;
  /** Called when the networks or the configuration errors changed. */
  readonly onChange: (loaded: LoadedNetworks) => void;
  /** Called when the status of the plugins changed. */
  readonly onStatusChange: () => void;
}

/** The networks as last read, and the last status of their plugins. The only owner of both. */
export class NetworkState {
  readonly #deps: NetworkStateDeps;
  readonly #mutex = new KeyedMutex();
  #loaded = NOTHING_LOADED;
  #loadedText = JSON.stringify(NOTHING_LOADED);
  #first: Promise<void> | undefined;
  /** The STATUS error of the first plugin that cannot accept pods. */
  #unavailable: string | undefined;
  #queriedAt = 0;
  /** The networks whose plugins are being queried. */
  #querying: readonly NetworkConfig[] | undefined;

  constructor(deps: NetworkStateDeps) {
    this.#deps = deps;
  }

  get confDir(): string {
    return this.#deps.confDir;
  }

  get loaded(): LoadedNetworks {
    return this.#loaded;
  }

  /** Serialized, so that the last read decides. */
  refresh(): Promise<void> {
    const done = this.#mutex.run('refresh', () => this.#load());
    this.#first ??= done;
    return done;
  }

  /** Waits for the first read. */
  async networks(): Promise<readonly NetworkConfig[]> {
    await (this.#first ?? this.refresh());
    return this.#loaded.networks;
  }

  status(): NetworkStatus {
    const { networks, errors } = this.#loaded;
    if (networks.length === 0) return notReady(notInitializedMessage(errors));
    this.#queryIfStale();
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
    // As in containerd, a network is not ready before its plugins say so; but a plugin that hangs blocks no caller.
    this.#unavailable = loaded.networks.some(supportsStatus) ? 'plugins have not reported their status yet' : undefined;
    if (this.#unavailable !== undefined) this.#queryInBackground();
    onChange(loaded);
  }

  /** Without polling: a stale status starts a query, whose answer later calls return. */
  #queryIfStale(): void {
    const { clock } = this.#deps.plugins;
    const { networks } = this.#loaded;
    if (this.#querying === networks || clock.monotonic() - this.#queriedAt < STATUS_MAX_AGE_MS) return;
    this.#queryInBackground();
  }

  #queryInBackground(): void {
    const { networks } = this.#loaded;
    this.#querying = networks;
    void this.#query(networks).then((unavailable) => {
      if (this.#querying === networks) this.#querying = undefined;
      if (this.#loaded.networks !== networks || this.#unavailable === unavailable) return;
      this.#unavailable = unavailable;
      this.#deps.onStatusChange();
    });
  }

  /** Never rejects: a failure is the answer. */
  async #query(networks: readonly NetworkConfig[]): Promise<string | undefined> {
    const { plugins } = this.#deps;
    this.#queriedAt = plugins.clock.monotonic();
    const deadline = plugins.clock.deadline(STATUS_TIMEOUT_MS);
    const answers = await Promise.allSettled(networks.map((network) => checkStatus(network, plugins, deadline)));
    const failure = answers.find((answer) => answer.status === 'rejected');
    return failure && errorText(failure.reason);
  }
}

/** containerd's message, followed by the configuration errors. */
export function notInitializedMessage(errors: readonly string[]): string {
  return ['cni plugin not initialized', ...errors].join(': ');
}

function notReady(text: string): NetworkStatus {
  return { ready: false, reason: 'NetworkPluginNotReady', message: `Network plugin returns error: ${text}` };
}
