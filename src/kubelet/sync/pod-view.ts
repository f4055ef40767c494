import type { Container, PodSpec } from '../../api/generated/core-v1.ts';
import type { ObservedContainer, ObservedSandbox } from '../pod/observed-pod.ts';
import type { ProbeResults } from '../probes/probe-results.ts';
import type { ResizePlan } from '../resources/resize-plan.ts';

/** Everything that a plan may read: no clock, no feature gate, no I/O. */
export interface PodView {
  readonly spec: PodSpec;
  /** Newest first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** The newest container of each name. */
  readonly containers: ReadonlyMap<string, ObservedContainer>;
  /** Older containers that the runtime still lists. */
  readonly older: readonly ObservedContainer[];
  /** A container's exit restarts all containers, and not all of them are removed yet. */
  readonly restartsAll: boolean;
  readonly probes: ProbeResults;
  /** How actuated and allocated resources differ; absent when they match. */
  readonly resize?: ResizePlan | undefined;
}

/** The restart policy of the container, else of the pod. */
export function restartPolicyOf(container: Container, spec: PodSpec): string {
  return container.restartPolicy ?? spec.restartPolicy ?? 'Always';
}

/** Whether a container restarts that was killed or whose exit code is unknown. Restart rules need an exit code. */
export function restartsWhenKilled(container: Container, spec: PodSpec): boolean {
  return restartPolicyOf(container, spec) !== 'Never';
}

export function exitCodeOf(container: ObservedContainer | undefined): number | undefined {
  return container?.state === 'exited' ? container.exitCode : undefined;
}
