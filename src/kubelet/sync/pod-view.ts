import type { Container, PodSpec } from '../../api/generated/core-v1.ts';
import type { ObservedContainer, ObservedSandbox } from '../pod/observed-pod.ts';
import type { ProbeResults } from '../probes/probe-results.ts';
import type { ResizeView } from '../resources/resize-view.ts';

/** All that a plan may look at: no clock, no global gate, no I/O. */
export interface PodView {
  readonly spec: PodSpec;
  /** Newest first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** The newest container under each name. */
  readonly containers: ReadonlyMap<string, ObservedContainer>;
  /** What the runtime still has of those that came before them. */
  readonly older: readonly ObservedContainer[];
  /** Some container has ended in a way for which all begin anew, and not all of them are gone yet. */
  readonly restartsAll: boolean;
  readonly probes: ProbeResults;
  /** What its containers lack of what the pod was promised; absent: nothing. */
  readonly resize?: ResizeView | undefined;
}

/** The policy of a container: its own, else its pod's. */
export function restartPolicyOf(container: Container, spec: PodSpec): string {
  return container.restartPolicy ?? spec.restartPolicy ?? 'Always';
}

/** Whether a container that is killed, or of which nobody knows how it ended, starts again. Its rules want exit codes. */
export function restartsWhenKilled(container: Container, spec: PodSpec): boolean {
  return restartPolicyOf(container, spec) !== 'Never';
}

export function exitCodeOf(container: ObservedContainer | undefined): number | undefined {
  return container?.state === 'exited' ? container.exitCode : undefined;
}
