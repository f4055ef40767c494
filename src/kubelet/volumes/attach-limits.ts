/** Why a volume that is not attached does not become attached. */
export interface AttachLimits {
  /** Whether the node has no room for another volume of this driver. `id` is kubelet's unique volume name. */
  isExceeded(id: string, signal: AbortSignal): Promise<boolean>;
}

/** Without an API server nothing is attached. */
export const NO_ATTACH_LIMITS: AttachLimits = { isExceeded: async () => false };
