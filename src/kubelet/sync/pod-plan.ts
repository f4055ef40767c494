/** The changes that a sync makes to a pod. `executePodPlan` executes it; the next sync computes the next plan. */
export type PodPlan =
  /** Stops all containers and the sandbox: the pod is done. */
  | { readonly kind: 'end' }
  /** Stops everything in older sandboxes, then starts `start` in the new one. */
  | {
      readonly kind: 'newSandbox';
      readonly attempt: number;
      readonly reason: SandboxChangeReason;
      readonly start: readonly ContainerStart[];
    }
  /** A container's exit restarts all containers. Groups are removed one after the other, each group concurrently. */
  | { readonly kind: 'removeAll'; readonly groups: readonly (readonly ContainerRemoval[])[] }
  /** The sandbox stays. Empty lists and no `resize`: the pod matches its spec, or waits. */
  | {
      readonly kind: 'adjust';
      readonly kill: readonly ContainerKill[];
      readonly start: readonly ContainerStart[];
      readonly resize?: PodResize;
    };

/** The allocated resources of the pod differ from the actuated ones. */
export interface PodResize {
  /** Names of running containers to update; others get their resources when they start. */
  readonly update: readonly string[];
}

/** Why the pod needs a new sandbox. */
export type SandboxChangeReason =
  | 'none yet'
  | 'several are ready'
  | 'not ready'
  | 'network mode changed'
  | 'no address';

export interface ContainerStart {
  readonly name: string;
  /** `sidecar`: an init container that always restarts. `ephemeral`: added to a running pod for debugging. */
  readonly role: ContainerRole;
}

export type ContainerRole = 'init' | 'sidecar' | 'main' | 'ephemeral';

export interface ContainerKill {
  readonly id: string;
  readonly name: string;
  readonly reason: KillReason;
  /** The text of the `Killing` event. */
  readonly message: string;
}

export type KillReason = 'definitionChanged' | 'livenessFailed' | 'startupFailed' | 'unknownState' | 'resized';

export interface ContainerRemoval {
  readonly id: string;
  readonly name: string;
  /** The container may run and is stopped first. */
  readonly stopFirst: boolean;
}

export const NOTHING_TO_DO: PodPlan = { kind: 'adjust', kill: [], start: [] };
