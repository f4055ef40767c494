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
  /** How many changes, of all resources together, a watch can start behind. */
  readonly keptChanges?: number;
}

/**
 * An API server in memory that answers, refuses and words its errors as kube-apiserver v1.36 does, without admission
 * plugins, and without validation beyond names, versions and what never changes. It depends on nothing but its clock
 * and its randomness, so a run with a virtual clock and a seed can be repeated exactly.
 */
export interface MemoryApiServer extends ApiServer {
  /** What goes wrong with calls through this door, outages included. */
  readonly faults: ApiFaults;
  /** The same server without faults: for users and controllers, who can reach it when the node cannot. */
  readonly direct: ApiServer;
  /** How many watches are open. */
  readonly watches: number;
  /** Every watch ends: quietly, or with the error. */
  closeWatches(error?: ApiError): void;
  /** Every watch is told how far it has come. */
  sendBookmark(): void;
  /** No watch can start from before now (`Expired`); those that are open go on. */
  compact(): void;
}

/** Empty, at version 1. */
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
