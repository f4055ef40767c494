import type { Pod } from '../../src/api/generated/core-v1.ts';
import type { Agent } from '../../src/app/agent.ts';
import { buildAgent } from '../../src/app/build-agent.ts';
import type { Log } from '../../src/base/log.ts';
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
import type { Draw } from './draw.ts';
import type { FaultBox } from './fault-box.ts';
import { Gate } from './gate.ts';
import { gatedApi } from './gated-api.ts';
import { gatedCri } from './gated-cri.ts';
import { unreliableEvents } from './gated-events.ts';
import { gatedHost } from './gated-host.ts';
import { loadCertificates } from './life-certificates.ts';
import { SHORT_PERCENT } from './misfortunes.ts';
import type { SimSource, WorldPlan } from './plan-world.ts';
import type { SimLogs } from './sim-logs.ts';
import { lifeSources } from './sim-sources.ts';

const ROTATION = { maxBytes: 2_000, maxFiles: 3, maxWorkers: 1, monitorIntervalMs: 60_000 };

/** Below it the node is short of disk. */
const SHORT = { fraction: SHORT_PERCENT / 100 };

export const NODE_SETTINGS: NodeSettings = {
  ...NODE,
  nodeIps: ['192.0.2.1'],
  maxPods: 110,
  thresholds: [
    { signal: 'nodefs.available', value: SHORT, gracePeriodMs: 0 },
    { signal: 'imagefs.available', value: SHORT, gracePeriodMs: 0 },
  ],
  pressureTransitionMs: 60_000,
};

export interface LifeDeps {
  readonly host: MemoryHost;
  readonly runtime: FakeRuntime;
  /** Absent: the node stands alone. */
  readonly apiServer: ApiServer | undefined;
  readonly faults: FaultBox;
  readonly pace: Draw;
  readonly events: WorldPlan['events'];
  readonly sourceDelaysMs: Readonly<Record<SimSource, number>>;
  /** Containers write logs. */
  readonly logs: SimLogs | undefined;
  readonly seed: number;
  readonly log: Log;
  readonly onCall: (method: CriMethod, request: unknown) => void;
  readonly onDeath: (downMs: number) => void;
  readonly onHeard: (source: SimSource, pods: readonly Pod[]) => void;
  readonly onAgentEvent: (event: AgentEvent) => void;
  /** The agent ended though nobody killed it. */
  readonly onEnd: (error: unknown) => void;
}

/** One run of the agent's process, from its start to the moment it is killed. */
export class AgentLife {
  readonly gate: Gate;
  readonly #deps: LifeDeps;
  #agent: Agent | undefined;

  constructor(deps: LifeDeps) {
    this.#deps = deps;
    this.gate = new Gate(deps.host.clock);
  }

  /** Absent while it is still starting. */
  get agent(): Agent | undefined {
    return this.#agent;
  }

  start(): void {
    this.#run().then(
      () => this.#ended(undefined),
      (error: unknown) => this.#ended(error),
    );
  }

  /** Nothing of it has any effect from now on. */
  kill(): void {
    this.gate.close();
  }

  async #run(): Promise<void> {
    const { runtime, apiServer, logs, faults, pace, events, sourceDelaysMs, seed, log, onCall, onDeath, onHeard } =
      this.#deps;
    const { gate } = this;
    const host = gatedHost(this.#deps.host, new SeededRandom(seed), gate, faults);
    const cri = gatedCri(logs?.reopening(runtime.cri) ?? runtime.cri, { gate, faults, pace, onCall, onDeath });
    const api = apiServer && gatedApi(apiServer, gate, pace);
    const parts = {
      host,
      cri,
      runtimeEvents: events === 'none' ? undefined : unreliableEvents(criEvents(cri.runtime), events, gate, faults),
      sources: lifeSources({ host, api, gate, log, delaysMs: sourceDelaysMs, heard: onHeard }),
      ...(api && { apiServer: api, node: NODE_SETTINGS }),
      settings: logs ? { ...SETTINGS, containerLogs: ROTATION } : SETTINGS,
      log,
    };
    const forEver = new AbortController().signal;
    const certificates = api && (await loadCertificates(host, api, log));
    const agent = await buildAgent(parts, forEver);
    if (gate.isShut) return;
    agent.subscribe((event) => {
      if (!gate.isShut) this.#deps.onAgentEvent(event);
    });
    this.#agent = agent;
    await Promise.all([agent.run(forEver), certificates?.run(forEver)]);
  }

  #ended(error: unknown): void {
    if (!this.gate.isShut) this.#deps.onEnd(error);
  }
}
