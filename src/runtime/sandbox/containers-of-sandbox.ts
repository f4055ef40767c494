import type { ContainerStatus } from '../../cri/generated/runtime-v1.ts';

/** The containers of a sandbox, as far as its own verbs need them. */
export interface SandboxContainers {
  /** Ends all of them without grace; those that are just being made too. Rejects when one could not be ended. */
  stopAll(sandboxId: string, signal: AbortSignal): Promise<void>;
  /** Takes all of them away; they are stopped. */
  removeAll(sandboxId: string, signal: AbortSignal): Promise<void>;
  statuses(sandboxId: string): readonly ContainerStatus[];
}
