/** Whether the node's storage is ready for pods. */
export interface StorageReadiness {
  /** Why the node is not ready, in kubelet's words; `undefined`: it is. */
  notReadyReason(): string | undefined;
  /** Calls the listener after each change. Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void;
}

/** A node without storage to prepare. */
export const STORAGE_READY: StorageReadiness = { notReadyReason: () => undefined, subscribe: () => () => undefined };
