import type { Node } from '../api/generated/core-v1.ts';
import { boundApiServer } from '../kubelet/api-client/bounded-api-server.ts';
import { createNodeKeeper } from '../kubelet/node/lifecycle/keep-node.ts';
import type { NodeEvents } from '../kubelet/node/node-event.ts';
import { NodeGatherer } from '../kubelet/node/status/gather-node.ts';
import { RuntimeReadiness } from '../kubelet/node/status/runtime-readiness.ts';
import type { RuntimeHealth } from '../kubelet/pleg/runtime-health.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';

const CGROUP_V1 =
  'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1';

export interface ClusterNodeParts {
  readonly health: Pick<RuntimeHealth, 'subscribe'>;
  readonly events: NodeEvents;
}

/** This machine as a node of a cluster. */
export interface ClusterNode {
  /** Registers it and keeps its status and its lease until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** As the API server was last seen to have it; nothing before that. */
  current(): Node | undefined;
  /** Resolves when the API server has told once what it has of the node, be it nothing. */
  readonly known: Promise<void>;
  /** Asks the API server, ahead of its watch. Nothing changes when it does not answer. */
  refresh(signal: AbortSignal): Promise<void>;
}

/** An agent without a cluster is nobody's node, and one that is not told how to be one leaves that to others. */
const NOBODY: ClusterNode = {
  run: async () => undefined,
  current: () => undefined,
  known: Promise.resolve(),
  refresh: async () => undefined,
};

export function createClusterNode(agent: AgentParts, facts: AgentFacts, parts: ClusterNodeParts): ClusterNode {
  const { apiServer, node: settings, host, cri, log } = agent;
  if (!apiServer || !settings) return NOBODY;
  const { clock, random } = host;
  const { health, events } = parts;
  const api = boundApiServer(agent.nodeApiServer ?? apiServer, { clock, random });
  const readiness = new RuntimeReadiness({ runtime: cri.runtime, clock, log });
  const size = { cpuCount: facts.hostFacts.cpuCount, memoryBytes: agent.settings.memoryCapacityBytes };
  const gatherer = new NodeGatherer(settings, size, { ...host, images: cri.images, readiness });
  const own = agent.ownNode;
  const keeper = createNodeKeeper(settings, { api, gatherer, readiness, events, clock, random, log, own });
  return {
    current: () => keeper.current(),
    known: keeper.known,
    refresh: (signal) => keeper.refresh(signal),
    async run(signal) {
      const look = (): void => readiness.lookAgain();
      const subscriptions = [health.subscribe(look), agent.onNetworkChange?.(look)];
      events.record('Normal', 'Starting', 'Starting kubelet.');
      if (facts.hostFacts.cgroupVersion === 'v1') events.record('Warning', 'CgroupV1', CGROUP_V1);
      try {
        await keeper.run(signal);
      } finally {
        for (const unsubscribe of subscriptions) unsubscribe?.();
      }
    },
  };
}
