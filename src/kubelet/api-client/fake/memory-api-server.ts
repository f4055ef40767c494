import type { Clock } from '../../../host/clock.ts';
import type { Random } from '../../../host/random.ts';
import type { ApiError, ApiServer } from '../api-server.ts';
import { ApiFaults, withFaults } from './api-faults.ts';
import { MemoryApiCalls } from './memory-api-calls.ts';
import { ObjectStore } from './object-store.ts';

const DEFAULT_KEPT_CHANGES = 1000;

export interface MemoryApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The number of changes, of all resources together, that a watch can lag behind. */
  readonly keptChanges?: number;
}

/**
 * An in-memory API server with the responses and error messages of kube-apiserver v1.36, without admission plugins, and
 * with validation only of names, versions and immutable fields. It depends only on its clock and random source, so a
 * run with a virtual clock and a seed is reproducible.
 */
export interface MemoryApiServer extends ApiServer {
  /** Faults of calls through this interface, including outages. */
  readonly faults: ApiFaults;
  /** The same server without faults: for users and controllers, which can reach it when the node cannot. */
  readonly direct: ApiServer;
  /** The number of open watches. */
  readonly watches: number;
  /** Ends all watches, with or without an error. */
  closeWatches(error?: ApiError): void;
  /** Sends a bookmark to all watches. */
  sendBookmark(): void;
  /** No watch can start from a version before now (`Expired`). Open watches continue. */
  compact(): void;
}

/** An empty server at version 1. */
export function createMemoryApiServer(options: MemoryApiServerOptions): MemoryApiServer {
  const { clock, random, keptChanges = DEFAULT_KEPT_CHANGES } = options;
  const store = new ObjectStore(keptChanges);
  const faults = new ApiFaults();
  const direct = new MemoryApiCalls(store, clock, random);
  return {
    ...withFaults(direct, faults, clock),
    faults,
    direct,
    get watches() {
      return store.watches;
    },
    closeWatches: (error) => store.endWatches(error),
    sendBookmark: () => store.bookmark(),
    compact: () => store.forgetHistory(),
  };
}
