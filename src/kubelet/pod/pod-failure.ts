/** The final status of a pod that the node ends: rejected, evicted, or past its deadline. */
export interface PodFailure {
  readonly phase: 'Failed';
  readonly reason: string;
  readonly message: string;
  /** The node disrupts the pod (an eviction, a shutdown): sets the condition `DisruptionTarget`. */
  readonly disruption?: boolean;
  /** The message of that condition; absent: the message of the failure. */
  readonly disruptionMessage?: string;
}

const REJECTED = 'Pod was rejected: ';

/** The status message of a rejected pod, as kubelet writes it. */
export function rejectedStatusMessage(message: string): string {
  return `${REJECTED}${message}`;
}

/** Why a pod was rejected, from its status; `undefined` for a pod that was not. */
export function rejectionMessage({ message = '' }: { readonly message?: string | undefined }): string | undefined {
  return message.startsWith(REJECTED) ? message.slice(REJECTED.length) : undefined;
}
