/** What is to be done for a pod now. The executor carries it out; the next look at the pod makes the next plan. */
export type PodPlan =
  /** Everything stops, the sandbox too, and nothing starts: the pod is done. */
  | { readonly kind: 'end' }
  /** What runs in older sandboxes stops first; `start` begins in the new one. */
  | { readonly kind: 'newSandbox'; readonly attempt: number; readonly start: readonly ContainerStart[] }
  /** The sandbox stays. Both lists empty: the pod is as it should be, or waits. */
  | { readonly kind: 'adjust'; readonly kill: readonly ContainerKill[]; readonly start: readonly ContainerStart[] };

export interface ContainerStart {
  readonly name: string;
  /** `sidecar`: an init container that restarts always. */
  readonly role: ContainerRole;
}

export type ContainerRole = 'init' | 'sidecar' | 'main';

export interface ContainerKill {
  readonly id: string;
  readonly name: string;
  readonly reason: KillReason;
  /** The text of the `Killing` event. */
  readonly message: string;
}

export type KillReason = 'definitionChanged' | 'livenessFailed' | 'startupFailed' | 'unknownState';

export const NOTHING_TO_DO: PodPlan = { kind: 'adjust', kill: [], start: [] };
