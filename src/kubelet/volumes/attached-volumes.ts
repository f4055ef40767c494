/**
 * The volumes that the attach-detach controller attaches to this node. Nodes do not attach volumes themselves: they report
 * which ones they use (`volumesInUse`), and wait until the controller has attached them (`volumesAttached`).
 */
export interface AttachedVolumes {
  /**
   * Reports the volume as in use, and waits until it is attached. It stays in use until `release`, also if the wait is
   * aborted, and the controller does not detach it before.
   * `id` is kubelet's unique volume name: `kubernetes.io/csi/driver^handle`.
   */
  waitUntilAttached(id: string, signal: AbortSignal): Promise<AttachedVolume>;
  /** What `waitUntilAttached` would wait for now. Absent: nothing. */
  pending(id: string): PendingAttachment | undefined;
  /**
   * Called when no pod uses the volume any more and it is unmounted. Has no effect while another pod waits for it. Safe
   * for a volume that was never waited for.
   */
  release(id: string): void;
}

/**
 * `notReported`: the API server does not have the volume in `volumesInUse` yet; `notAttached`: the controller has not
 * attached it.
 */
export type PendingAttachment = 'notReported' | 'notAttached';

export interface AttachedVolume {
  /** As the controller reports it; empty for CSI. */
  readonly devicePath: string;
}

/** Without an API server there is no controller, and every volume counts as attached. */
export const ALWAYS_ATTACHED: AttachedVolumes = {
  waitUntilAttached: async () => ({ devicePath: '' }),
  pending: () => undefined,
  release() {},
};
