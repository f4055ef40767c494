/** The end of a pod that the node decides, as its status shows it. */
export interface PodFailure {
  readonly phase: 'Failed';
  readonly reason: string;
  readonly message: string;
  /** The node itself wants the pod gone (an eviction, a shutdown): the condition `DisruptionTarget` says so. */
  readonly disruption?: boolean;
}
