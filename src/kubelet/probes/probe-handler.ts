import type { Container } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { NetworkClient } from '../../host/network.ts';
import type { ExecInContainer } from './exec-in-container.ts';
import type { TimeLimit } from './time-limit.ts';

/** The outcome of one check of a probe. `output` is shown to users. */
export type CheckOutcome =
  | { readonly kind: 'success'; readonly output: string }
  /** Counts as a success; the user gets an event. */
  | { readonly kind: 'warning'; readonly output: string }
  | { readonly kind: 'failure'; readonly output: string }
  /** The check itself failed, which says nothing about the container. */
  | { readonly kind: 'error'; readonly state: 'unknown' | 'failure'; readonly output: string };

/** The checked container, at the time of the check. */
export interface ProbeTarget {
  readonly container: Container;
  readonly containerId: string;
  /** Empty when the pod has none. */
  readonly podIP: string;
}

export interface CheckDeps {
  readonly clock: Clock;
  readonly network: NetworkClient;
  readonly exec: ExecInContainer;
}

/** Checks a container once by one kind of action. An error that it throws makes the result unknown. */
export type ProbeHandler<Action> = (
  action: Action,
  target: ProbeTarget,
  deps: CheckDeps,
  limit: TimeLimit,
) => Promise<CheckOutcome>;

/** Largest kept output of a container. */
export const MAX_OUTPUT_BYTES = 10 * 1024;
