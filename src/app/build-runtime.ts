import { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import { runPleg } from '../kubelet/pleg/run-pleg.ts';
import { RuntimeHealth } from '../kubelet/pleg/runtime-health.ts';
import type { AgentParts } from './agent.ts';
import type { PodSignals } from './pod-signals.ts';

/** The runtime as the agent observes it. */
export interface AgentRuntime {
  readonly observed: ObservedPods;
  readonly health: RuntimeHealth;
  /** Runs PLEG until the signal aborts: follows the runtime's events and relists. */
  run(signal: AbortSignal): Promise<void>;
}

/** Builds PLEG on the connection to the runtime. */
export function buildRuntime(
  { host, cri, runtimeEvents, log }: AgentParts,
  signals: PodSignals,
  life: AbortSignal,
): AgentRuntime {
  const { clock, fs } = host;
  const onChange = (uid: string): void => signals.podObserved.raise(uid);
  const observed = new ObservedPods({ runtime: cri.runtime, fs, clock, onChange }, life);
  const health = new RuntimeHealth(clock);
  return {
    observed,
    health,
    run: (signal) => runPleg({ observed, health, events: runtimeEvents, clock, log }, signal),
  };
}
