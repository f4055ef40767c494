import type { Log, LogFields } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { NetworkSettings } from '../settings/runtime-settings.ts';
import { type Attachment, newAttachments } from './attachment.ts';
import type { LoadedNetworks } from './load-networks.ts';
import type { NetworkConfig } from './network-config.ts';
import { NetworkState } from './network-state.ts';
import type { NetworkStatus } from './pod-network.ts';
import type { PluginDeps } from './run-plugin.ts';
import { watchDirectory } from './watch-directory.ts';

const WATCH_RETRY_MS = 10_000;

export interface NetworkStatesDeps {
  readonly settings: Pick<NetworkSettings, 'confDir' | 'maxConfigs' | 'handlers'>;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
  readonly plugins: PluginDeps;
  /** Called when networks or the status of their plugins changed. */
  readonly onChange: () => void;
}

/** The default networks, and those of runtime handlers that have a configuration directory of their own. */
export class NetworkStates {
  readonly default: NetworkState;
  readonly #deps: NetworkStatesDeps;
  readonly #ofHandlers: ReadonlyMap<string, NetworkState>;

  constructor(deps: NetworkStatesDeps) {
    this.#deps = deps;
    const { confDir, maxConfigs, handlers } = deps.settings;
    this.default = this.#open(confDir, maxConfigs);
    const opened = [...handlers].map(
      ([handler, own]) => [handler, this.#open(own.confDir, own.maxConfigs ?? maxConfigs, { handler })] as const,
    );
    this.#ofHandlers = new Map(opened);
  }

  forHandler(handler: string): NetworkState {
    return this.#ofHandlers.get(handler) ?? this.default;
  }

  handlerStatuses(): ReadonlyMap<string, NetworkStatus> {
    return new Map([...this.#ofHandlers].map(([handler, state]) => [handler, state.status()]));
  }

  async refresh(): Promise<void> {
    await Promise.all(this.#all().map((state) => state.refresh()));
  }

  /** The attachments that a pod may have, whatever its handler. */
  async possibleAttachments(): Promise<readonly Attachment[]> {
    return (await this.#loaded()).flatMap(newAttachments);
  }

  /** All networks, one of each name: CNI's GC goes by the name. */
  async networks(): Promise<readonly NetworkConfig[]> {
    const networks = (await this.#loaded()).flat();
    return networks.filter(({ name }, index) => networks.findIndex((each) => each.name === name) === index);
  }

  /** Watches every directory until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((state) => this.#watch(state, signal)));
  }

  #loaded(): Promise<readonly (readonly NetworkConfig[])[]> {
    return Promise.all(this.#all().map((state) => state.networks()));
  }

  #all(): readonly NetworkState[] {
    return [this.default, ...this.#ofHandlers.values()];
  }

  #open(confDir: string, maxConfigs: number, fields: LogFields = {}): NetworkState {
    const { fs, log, plugins, onChange: onStatusChange } = this.#deps;
    const onChange = ({ networks, errors }: LoadedNetworks): void => {
      log.info('pod networks changed', { ...fields, networks: networks.map(({ name }) => name) });
      for (const error of errors) log.warn('network configuration ignored', { ...fields, error });
      onStatusChange();
    };
    return new NetworkState({ fs, plugins, confDir, maxConfigs, onChange, onStatusChange });
  }

  async #watch(state: NetworkState, signal: AbortSignal): Promise<void> {
    const { fs, clock, log } = this.#deps;
    while (!signal.aborted) {
      try {
        for await (const _ of watchDirectory(fs, state.confDir, signal)) await state.refresh();
      } catch (error) {
        if (signal.aborted) return;
        log.warn('cannot watch the network configurations', { folder: state.confDir, error });
        await clock.sleep(WATCH_RETRY_MS, signal).catch(() => {});
      }
    }
  }
}
