import type { Pod } from '../../src/api/generated/core-v1.ts';
import type { Agent } from '../../src/app/agent.ts';
import { buildAgent } from '../../src/app/build-agent.ts';
import type { Log, LogFields } from '../../src/base/log.ts';
import { parseQuantity } from '../../src/base/quantity.ts';
import { UnhandledErrors } from '../../src/base/unhandled-errors.ts';
import { criEvents } from '../../src/cri/cri-events.ts';
import type { FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { CriMethod } from '../../src/cri/services.ts';
import type { MemoryHost } from '../../src/host/fake/memory-host.ts';
import { SeededRandom } from '../../src/host/fake/seeded-random.ts';
import type { ApiServer } from '../../src/kubelet/api-client/api-server.ts';
import type { AgentEvent } from '../../src/kubelet/explain/agent-view.ts';
import type { NodeSettings } from '../../src/kubelet/node/node-settings.ts';
import { SETTINGS } from '../agent/memory-agent.ts';
import { NODE } from '../agent/node-world.ts';
import { loadCertificates } from './agent-certificates.ts';
import type { Draw } from './draw.ts';
import { Gate } from './gate.ts';
import { gatedApi } from './gated-api.ts';
import { gatedCri } from './gated-cri.ts';
import { unreliableEvents } from './gated-events.ts';
import { gatedHost } from './gated-host.ts';
import { SHORT_PERCENT } from './inject-fault.ts';
import type { MachineSide } from './machine-side.ts';
import type { PendingFaults } from './pending-faults.ts';
import type { SimSource, WorldPlan } from './plan-world.ts';
import type { SimDisks } from './sim-disks.ts';
import { LOG_LINKS, type SimLogs } from './sim-logs.ts';
import { processSources } from './sim-sources.ts';

const ROTATION = { maxBytes: 2_000, maxFiles: 3, maxWorkers: 1, monitorIntervalMs: 60_000 };

const LOG_SETTINGS = { containerLogs: ROTATION, containerLogsDir: LOG_LINKS };

/** Below this share of free space the node is under disk pressure. */
const SHORT = { fraction: SHORT_PERCENT / 100 };

export const NODE_SETTINGS: NodeSettings = {
  ...NODE,
  nodeIps: ['192.0.2.1'],
  maxPods: 110,
  thresholds: [
    // Longer than any shortage of a world: new pods are rejected, and none is evicted.
    { signal: 'nodefs.available', value: SHORT, gracePeriodMs: 1_500_000 },
    { signal: 'imagefs.available', value: SHORT, gracePeriodMs: 1_500_000 },
    { signal: 'memory.available', value: { quantity: parseQuantity('1Gi') }, gracePeriodMs: 0 },
  ],
  pressureTransitionMs: 60_000,
};

export interface AgentProcessDeps {
  readonly host: MemoryHost;
  readonly runtime: FakeRuntime;
  /** Absent on a standalone node. */
  readonly apiServer: ApiServer | undefined;
  readonly disks: SimDisks;
  /** Absent: the resources of the machine are not assigned to pods. */
  readonly machine: MachineSide | undefined;
  readonly faults: PendingFaults;
  readonly pace: Draw;
  readonly events: WorldPlan['events'];
  readonly sourceDelaysMs: Readonly<Record<SimSource, number>>;
  /** Containers write logs. */
  readonly logs: SimLogs | undefined;
  readonly seed: number;
  readonly log: Log;
  readonly onCall: (method: CriMethod, request: unknown) => void;
  readonly onKill: (downMs: number) => void;
  readonly onSnapshot: (source: SimSource, pods: readonly Pod[]) => void;
  readonly onAgentEvent: (event: AgentEvent) => void;
  /** The agent ended without being killed. */
  readonly onEnd: (error: unknown) => void;
}

/** One process of the agent, from its start until it is killed. */
export class AgentProcess {
  readonly gate: Gate;
  readonly #deps: AgentProcessDeps;
  #agent: Agent | undefined;

  constructor(deps: AgentProcessDeps) {
    this.#deps = deps;
    this.gate = new Gate(deps.host.clock);
  }

  /** Absent while the agent is starting. */
  get agent(): Agent | undefined {
    return this.#agent;
  }

  start(): void {
    this.#run().then(
      () => this.#ended(undefined),
      (error: unknown) => this.#ended(error),
    );
  }

  /** The process has no further effect. */
  kill(): void {
    this.gate.close();
  }

  async #run(): Promise<void> {
    const {
      runtime,
      apiServer,
      disks,
      logs,
      faults,
      pace,
      events,
      sourceDelaysMs,
      seed,
      log,
      onCall,
      onKill,
      onSnapshot,
    } = this.#deps;
    const { gate } = this;
    const fromMachine = this.#deps.machine?.partsFor(gate, pace);
    const host = gatedHost(this.#deps.host, new SeededRandom(seed), gate, faults, fromMachine?.loginManager);
    const cri = gatedCri(logs?.reopening(runtime.cri) ?? runtime.cri, { gate, faults, pace, onCall, onKill });
    const api = apiServer && gatedApi(apiServer, gate, pace);
    const parts = {
      host,
      cri,
      runtimeEvents: events === 'none' ? undefined : unreliableEvents(criEvents(cri.runtime), events, gate, faults),
      sources: processSources({ host, api, gate, log, delaysMs: sourceDelaysMs, onSnapshot }),
      ...(api && { apiServer: api, node: fromMachine?.node(NODE_SETTINGS) ?? NODE_SETTINGS }),
      ...fromMachine?.parts,
      csiDrivers: disks.driversOf(gate, pace),
      settings: { ...SETTINGS, ...(logs && LOG_SETTINGS), ...fromMachine?.settings },
      log,
      unhandled: this.#unhandledErrors(),
    };
    const forever = new AbortController().signal;
    const certificates = api && (await loadCertificates(host, api, log));
    const agent = await buildAgent(parts, forever);
    if (gate.isClosed) return;
    agent.subscribe((event) => {
      if (!gate.isClosed) this.#deps.onAgentEvent(event);
    });
    this.#agent = agent;
    await Promise.all([agent.run(forever), certificates?.run(forever)]);
  }

  /** No error of the world is unexpected: a part that fails is a defect. */
  #unhandledErrors(): UnhandledErrors {
    const error = (_: string, fields: LogFields = {}): void => this.#ended(fields['stack']);
    return new UnhandledErrors({ clock: this.gate.clock, log: { ...this.#deps.log, error } });
  }

  #ended(error: unknown): void {
    if (!this.gate.isClosed) this.#deps.onEnd(error);
  }
}
