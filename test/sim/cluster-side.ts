import type { Pod } from '../../src/api/generated/core-v1.ts';
import { MemorySigningKeys } from '../../src/host/fake/memory-signing-keys.ts';
import { SeededRandom } from '../../src/host/fake/seeded-random.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import type { ApiServer } from '../../src/kubelet/api-client/api-server.ts';
import {
  type ApiFault,
  type ApiRequest,
  type ApiVerb,
  withFaults,
} from '../../src/kubelet/api-client/fake/api-faults.ts';
import { createMemoryApiServer, type MemoryApiServer } from '../../src/kubelet/api-client/fake/memory-api-server.ts';
import { MemorySigner } from '../../src/kubelet/certificates/fake/memory-signer.ts';
import { ClusterBook } from './cluster-book.ts';
import type { FaultBox } from './fault-box.ts';
import { type ApiWrite, observedApi } from './observed-api.ts';
import type { ClusterPlan, Meddling } from './plan-cluster.ts';
import { SimCluster } from './sim-cluster.ts';
import { MACHINE_ID } from './sim-machine.ts';
import { SimMeddlers } from './sim-meddlers.ts';

export interface ClusterSideDeps {
  readonly seed: number;
  readonly clock: VirtualClock;
  readonly faults: FaultBox;
  readonly wrote: (write: ApiWrite) => void;
  readonly staticOf: (key: string) => Pod | undefined;
}

/** The API server and everybody who uses it besides the agent. */
export class ClusterSide {
  readonly server: MemoryApiServer;
  /** The same server, as the agent reaches it. */
  readonly agentApi: ApiServer;
  readonly users: SimCluster;
  readonly book: ClusterBook;
  readonly #deps: ClusterSideDeps;
  readonly #meddlers: SimMeddlers;

  constructor(deps: ClusterSideDeps) {
    const { seed, clock, wrote, staticOf } = deps;
    this.#deps = deps;
    this.book = new ClusterBook(() => clock.monotonic());
    this.server = createMemoryApiServer({ clock, random: new SeededRandom(seed) });
    this.server.faults.everyCall((verb, request) => this.#fault(verb, request));
    const { direct: api } = this.server;
    this.agentApi = withFaults(observedApi(api, wrote), this.server.faults, clock);
    this.users = new SimCluster(api);
    const { book } = this;
    this.#meddlers = new SimMeddlers({ api, clock, book, podOf: (key) => this.users.get(key), staticOf });
  }

  /** What is there before the first agent; who signs certificates does so until the signal aborts. */
  async prepare(plan: ClusterPlan, signal: AbortSignal): Promise<void> {
    const { seed, clock } = this.#deps;
    await this.#meddlers.prepare(plan, MACHINE_ID);
    const key = await new MemorySigningKeys(new SeededRandom(seed)).generate();
    const signer = new MemorySigner({ api: this.server.direct, clock, key });
    signer.lifeMs = plan.certificateMs;
    void signer.run(signal);
  }

  meddle(meddling: Meddling): Promise<void> {
    return this.#meddlers.meddle(meddling);
  }

  #fault(verb: ApiVerb, request: ApiRequest): ApiFault | undefined {
    const fault = this.#deps.faults.takeApi(verb, request);
    if (!fault) return undefined;
    // That events cannot be written is no excuse for anything.
    if (request.resource === 'events') this.book.eventTrouble(durationOf(fault, verb));
    else this.book.serverTrouble(durationOf(fault, verb));
    return fault;
  }
}

/** How long a call that this happens to may take. */
function durationOf(fault: ApiFault, verb: ApiVerb): number {
  if (fault.kind === 'delay') return fault.ms;
  return fault.kind === 'hang' ? (verb === 'list' ? 60_000 : 10_000) : 0;
}
