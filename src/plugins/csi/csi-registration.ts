import { errorText } from '../../base/error-text.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import {
  type FoundPlugin,
  isAgentStopping,
  type PluginHandler,
  type PluginRegistration,
} from '../registration/plugin-handler.ts';
import { type CsiDriver, CsiDriverNotFoundError, type CsiDrivers } from './csi-drivers.ts';
import type { CsiNodeInfo } from './csi-node-info.ts';
import { type CsiVersion, highestSupportedVersion, isLower, versionText } from './csi-versions.ts';
import { CsiNodeClient, GrpcCsiDriver } from './grpc-csi-driver.ts';

/** The limit of an undo, which does not depend on the caller's signal. */
const UNDO_MS = 10_000;

/** Where the cluster learns which drivers the node has: the CSINode and the Node object. */
export interface CsiNodeRecord {
  /** Repeats nothing that is recorded already. */
  install(driverName: string, info: CsiNodeInfo, signal: AbortSignal): Promise<void>;
  uninstall(driverName: string, signal: AbortSignal): Promise<void>;
}

/** Without an API server no record is kept. */
export const NO_CSI_NODE_RECORD: CsiNodeRecord = { install: async () => undefined, uninstall: async () => undefined };

export interface CsiRegistrationDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly record: CsiNodeRecord;
}

interface Entry {
  readonly driver: CsiDriver;
  readonly client: CsiNodeClient;
  readonly version: CsiVersion;
}

/** The CSI drivers of the node, and the handler of plugins of type `CSIPlugin`. Changes of one driver take turns. */
export class CsiRegistration implements CsiDrivers, PluginHandler {
  readonly #deps: CsiRegistrationDeps;
  readonly #byName = new Map<string, Entry>();
  readonly #listeners = new Set<(driverName: string) => void>();
  readonly #turns = new KeyedMutex();

  constructor(deps: CsiRegistrationDeps) {
    this.#deps = deps;
  }

  driver(name: string): CsiDriver {
    return this.#entry(name).driver;
  }

  /** Asks the driver what it says about this node now. */
  nodeInfo(name: string, signal: AbortSignal): Promise<CsiNodeInfo> {
    return this.#entry(name).client.info(signal);
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  subscribe(listener: (driverName: string) => void): () => void {
    const each = (name: string): void => listener(name);
    this.#listeners.add(each);
    return () => void this.#listeners.delete(each);
  }

  validate(plugin: FoundPlugin): void {
    try {
      this.#checkVersions('ValidatePlugin', plugin);
    } catch (error) {
      const { name, endpoint } = plugin;
      throw new Error(`validation failed for CSI Driver ${name} at endpoint ${endpoint}: ${errorText(error)}`, {
        cause: error,
      });
    }
  }

  register(plugin: FoundPlugin, signal: AbortSignal): Promise<PluginRegistration> {
    return this.#turns.run(plugin.name, () => this.#register(plugin, signal));
  }

  async #register(plugin: FoundPlugin, signal: AbortSignal): Promise<PluginRegistration> {
    signal.throwIfAborted();
    const { name, endpoint } = plugin;
    const version = this.#checkVersions('RegisterPlugin', plugin);
    const client = new CsiNodeClient(name, endpoint, this.#deps.clock);
    try {
      const info = await client.info(signal);
      const capabilities = await client.capabilities(signal);
      await this.#deps.record.install(name, info, signal);
      const entry = { driver: new GrpcCsiDriver(name, capabilities, client), client, version };
      this.#set(entry);
      return {
        deregister: (until) => this.#turns.run(name, () => this.#deregister(name, entry, until)),
        close: () => client.close(),
      };
    } catch (error) {
      client.close();
      if (!isAgentStopping(signal)) await this.#undo(name);
      throw error;
    }
  }

  /** Removes what an earlier agent may have recorded, too. A driver that is registered keeps its record. */
  async #undo(name: string): Promise<void> {
    const { record, clock, log } = this.#deps;
    if (this.#byName.has(name)) return;
    await record.uninstall(name, clock.deadline(UNDO_MS)).catch((error: unknown) => {
      log.debug('cannot undo the registration of a CSI driver', { driver: name, error });
    });
  }

  /** An older version of the driver ends; its calls in progress go on. */
  #set(entry: Entry): void {
    const { name } = entry.driver;
    this.#byName.get(name)?.client.close();
    this.#byName.set(name, entry);
    for (const listener of [...this.#listeners]) {
      try {
        listener(name);
      } catch (error) {
        this.#deps.log.error('listener of registered CSI drivers failed', { driver: name, error });
      }
    }
  }

  async #deregister(name: string, entry: Entry, signal: AbortSignal): Promise<void> {
    entry.client.close();
    if (this.#byName.get(name) !== entry) return; // a newer version of the driver has replaced it
    this.#byName.delete(name);
    await this.#deps.record.uninstall(name, signal);
  }

  #entry(name: string): Entry {
    const entry = this.#byName.get(name);
    if (!entry) throw new CsiDriverNotFoundError(name);
    return entry;
  }

  /** The highest supported version; throws with kubelet's messages. */
  #checkVersions(caller: 'ValidatePlugin' | 'RegisterPlugin', { name, supportedVersions }: FoundPlugin): CsiVersion {
    const prefix = `kubernetes.io/csi: ${caller} for CSI driver ${goQuote(name)} failed.`;
    if (supportedVersions.length === 0) {
      throw new Error(`${prefix} Plugin returned an empty list for supported versions`);
    }
    const version = tryHighest(supportedVersions, prefix);
    const existing = this.#byName.get(name)?.version;
    if (existing && !isLower(existing, version)) {
      const higher = goQuote(versionText(existing));
      throw new Error(
        `${prefix} Another driver with the same name is already registered with a higher supported version: ${higher}`,
      );
    }
    return version;
  }
}

function tryHighest(versions: readonly string[], prefix: string): CsiVersion {
  try {
    return highestSupportedVersion(versions);
  } catch (error) {
    const given = `[${versions.map(goQuote).join(' ')}]`;
    throw new Error(`${prefix} None of the versions specified ${given} are supported. err=${errorText(error)}`, {
      cause: error,
    });
  }
}
