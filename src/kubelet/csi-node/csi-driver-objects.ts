import type { CSIDriver } from '../../api/generated/core-v1.ts';
import { abortable } from '../../base/abortable.ts';
import { ExpectedError } from '../../base/expected-error.ts';
import { type ReflectorDeps, runReflector } from '../api-client/reflector.ts';

/** How long a caller waits for the first list; then it fails, and is retried with the sync of its pod. */
const FIRST_LIST_MS = 10_000;

/** The CSIDriver objects of the cluster: how kubelet has to treat the volumes of each driver. */
export interface CsiDriverObjects {
  /**
   * `undefined`: the driver has no object. Waits for the first list of the API server; rejects when it does not arrive,
   * because a missing object changes how volumes are mounted.
   */
  find(name: string, signal: AbortSignal): Promise<CSIDriver | undefined>;
  /** The same without waiting: `undefined` also before the first list. */
  cached(name: string): CSIDriver | undefined;
  /** Calls the listener after an object was added, changed or deleted. Returns the function that unsubscribes. */
  onChange(listener: (name: string) => void): () => void;
}

/** Without an API server no driver has an object. */
export const NO_CSI_DRIVER_OBJECTS: CsiDriverObjects = {
  find: async () => undefined,
  cached: () => undefined,
  onChange: () => () => undefined,
};

/** The objects as a watch of the API server reports them. */
export class WatchedCsiDriverObjects implements CsiDriverObjects {
  readonly #deps: ReflectorDeps;
  readonly #firstList = Promise.withResolvers<void>();
  readonly #listeners = new Set<(name: string) => void>();
  #byName: ReadonlyMap<string, CSIDriver> = new Map();
  #isListed = false;

  constructor(deps: ReflectorDeps) {
    this.#deps = deps;
  }

  async find(name: string, signal: AbortSignal): Promise<CSIDriver | undefined> {
    if (!this.#isListed) await this.#waitForList(name, signal);
    return this.cached(name);
  }

  cached(name: string): CSIDriver | undefined {
    return this.#byName.get(name);
  }

  onChange(listener: (name: string) => void): () => void {
    const each = (name: string): void => listener(name);
    this.#listeners.add(each);
    return () => void this.#listeners.delete(each);
  }

  /** Watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await runReflector(
      { resource: 'csidrivers' },
      {
        onList: (items) => this.#replace(new Map(items.map((each) => [each.metadata.name, each]))),
        onChange: ({ type, object }) => {
          const all = new Map(this.#byName);
          all.delete(object.metadata.name);
          if (type !== 'DELETED') all.set(object.metadata.name, object);
          this.#replace(all);
        },
      },
      this.#deps,
      signal,
    );
  }

  #replace(now: ReadonlyMap<string, CSIDriver>): void {
    const before = this.#byName;
    this.#byName = now;
    this.#isListed = true;
    this.#firstList.resolve();
    for (const name of new Set([...before.keys(), ...now.keys()])) {
      if (versionOf(before.get(name)) === versionOf(now.get(name))) continue;
      for (const listener of [...this.#listeners]) listener(name);
    }
  }

  async #waitForList(name: string, signal: AbortSignal): Promise<void> {
    const patience = AbortSignal.any([signal, this.#deps.clock.deadline(FIRST_LIST_MS)]);
    await abortable(this.#firstList.promise, patience).catch(() => {
      signal.throwIfAborted();
      throw new ExpectedError(
        `cannot get CSIDriver "${name}": the API server has not listed the CSIDriver objects yet`,
      );
    });
  }
}

/** Names one version of one object. */
function versionOf(object: CSIDriver | undefined): string | undefined {
  return object && `${object.metadata.uid} ${object.metadata.resourceVersion}`;
}
