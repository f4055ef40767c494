import type { Container } from '../../api/generated/core-v1.ts';

/** What one check of a probe came to. `output` is for users to see. */
export type CheckOutcome =
  | { readonly kind: 'success'; readonly output: string }
  /** As good as a success, but the user should know. */
  | { readonly kind: 'warning'; readonly output: string }
  | { readonly kind: 'failure'; readonly output: string }
  /** The check itself went wrong, which says nothing of the container. */
  | { readonly kind: 'error'; readonly state: 'unknown' | 'failure'; readonly output: string };

/** The container that is checked, at the moment of the check. */
export interface ProbeTarget {
  readonly container: Container;
  readonly containerId: string;
  /** Empty when the pod has none. */
  readonly podIP: string;
}

/** How much of what a container says is kept. */
export const MAX_OUTPUT_BYTES = 10 * 1024;
