/** What is to be done for a pod now. The executor carries it out; the next look at the pod makes the next plan. */
export type PodPlan =
  /** Everything stops, the sandbox too, and nothing starts: the pod is done. */
  | { readonly kind: 'end' }
  /** What runs in older sandboxes stops first; `start` begins in the new one. */
  | {
      readonly kind: 'newSandbox';
      readonly attempt: number;
      readonly reason: SandboxChangeReason;
      readonly start: readonly ContainerStart[];
    }
  /** A container has ended in a way for which all of them begin anew. Groups, one after the other, each at once. */
  | { readonly kind: 'removeAll'; readonly groups: readonly (readonly ContainerRemoval[])[] }
  /** The sandbox stays. Both lists empty and no `resize`: the pod is as it should be, or waits. */
  | {
      readonly kind: 'adjust';
      readonly kill: readonly ContainerKill[];
      readonly start: readonly ContainerStart[];
      readonly resize?: PodResize;
    };

/** The pod was promised other resources than it has. */
export interface PodResize {
  /** Names of containers that go on running with other ones; the rest gets them when it starts. */
  readonly update: readonly string[];
}

/** Why the sandbox that a pod has is not the one that it needs. */
export type SandboxChangeReason = 'none yet' | 'several are ready' | 'not ready' | 'network mode changed' | 'no address';

export interface ContainerStart {
  readonly name: string;
  /** `sidecar`: an init container that restarts always. `ephemeral`: put into the pod while it runs, to look at it. */
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
  /** It may run, and is stopped before. */
  readonly stopFirst: boolean;
}

export const NOTHING_TO_DO: PodPlan = { kind: 'adjust', kill: [], start: [] };
