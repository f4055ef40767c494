import { enforceAllocatable } from '../kubelet/node/lifecycle/enforce-allocatable.ts';
import type { NodeEvents } from '../kubelet/node/node-event.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';

/** What holds all pods of a node together to their share of it; who is no node holds them to nothing. */
export function createAllocatable(
  { node, host }: AgentParts,
  { machine }: AgentFacts,
  events: NodeEvents,
): { run(signal: AbortSignal): Promise<void> } {
  return {
    run: async (signal) => {
      if (node) await enforceAllocatable(node, machine, { ...host, events }, signal);
    },
  };
}
