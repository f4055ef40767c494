import type { PodSpec } from '../../api/generated/core-v1.ts';
import type { ObservedContainer, ObservedSandbox } from '../observe/observed-pod.ts';
import type { ProbeResults } from '../probes/probe-results.ts';

/** All that a plan may look at: no clock, no global gate, no I/O. */
export interface PodView {
  readonly spec: PodSpec;
  /** Newest first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** The newest container under each name. */
  readonly containers: ReadonlyMap<string, ObservedContainer>;
  readonly probes: ProbeResults;
}

export function restartsOnFailure(spec: PodSpec): boolean {
  return spec.restartPolicy !== 'Never';
}

export function exitedWith(container: ObservedContainer | undefined): number | undefined {
  return container?.state === 'exited' ? container.exitCode : undefined;
}
