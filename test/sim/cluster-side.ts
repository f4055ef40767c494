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
import { ClusterState } from './cluster-state.ts';
import { ExternalChanges } from './external-changes.ts';
import { type ApiWrite, observedApi } from './observed-api.ts';
import type { PendingFaults } from './pending-faults.ts';
import type { ClusterPlan, ExternalChange } from './plan-cluster.ts';
import { SimCluster } from './sim-cluster.ts';
import { MACHINE_ID } from './sim-machine.ts';

export interface ClusterSideDeps {
  readonly seed: number;
  readonly clock: VirtualClock;
  readonly faults: PendingFaults;
  readonly wrote: (write: ApiWrite) => void;
  readonly staticOf: (key: string) => Pod | undefined;
}

/** The API server and all its clients except the agent. */
export class ClusterSide {
  readonly server: MemoryApiServer;
  /** The same server, as the agent reaches it. */
  readonly agentApi: ApiServer;
  readonly users: SimCluster;
  readonly clusterState: ClusterState;
  readonly #deps: ClusterSideDeps;
  readonly #changes: ExternalChanges;

  constructor(deps: ClusterSideDeps) {
    const { seed, clock, wrote, staticOf } = deps;
    this.#deps = deps;
    this.clusterState = new ClusterState(() => clock.monotonic());
    this.server = createMemoryApiServer({ clock, random: new SeededRandom(seed) });
    this.server.faults.everyCall((verb, request) => this.#fault(verb, request));
    const { direct: api } = this.server;
    this.agentApi = withFaults(observedApi(api, wrote), this.server.faults, clock);
    this.users = new SimCluster(api);
    const { clusterState } = this;
    this.#changes = new ExternalChanges({ api, clock, clusterState, podOf: (key) => this.users.get(key), staticOf });
  }

  /** Creates the objects that exist before the first agent process; certificates are signed until the signal aborts. */
  async prepare(plan: ClusterPlan, signal: AbortSignal): Promise<void> {
    const { seed, clock } = this.#deps;
    await this.#changes.prepare(plan, MACHINE_ID);
    const key = await new MemorySigningKeys(new SeededRandom(seed)).generate();
    const signer = new MemorySigner({ api: this.server.direct, clock, key });
    signer.lifeMs = plan.certificateMs;
    void signer.run(signal);
  }

  applyChange(change: ExternalChange): Promise<void> {
    return this.#changes.apply(change);
  }

  #fault(verb: ApiVerb, request: ApiRequest): ApiFault | undefined {
    const fault = this.#deps.faults.takeApi(verb, request);
    if (!fault) return undefined;
    // A failed write of an event excuses no other violation.
    if (request.resource === 'events') this.clusterState.noteEventFault(durationOf(fault, verb));
    else this.clusterState.noteApiFault(durationOf(fault, verb));
    return fault;
  }
}

/** The longest duration of a call with this fault. */
function durationOf(fault: ApiFault, verb: ApiVerb): number {
  if (fault.kind === 'delay') return fault.ms;
  return fault.kind === 'hang' ? (verb === 'list' ? 60_000 : 10_000) : 0;
}
