import type { PodAdmitHandler } from './pod-admit-handler.ts';

/** Rejects every pod while the machine is about to be shut down. */
export const shutdownHandler: PodAdmitHandler = (_, { isShuttingDown = false }) =>
  isShuttingDown ? { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' } : undefined;
