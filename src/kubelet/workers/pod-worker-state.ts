import { assertNever } from '../../base/assert-never.ts';
import type { PodFailure } from '../pod/pod-failure.ts';

/**
 * State of a pod worker.
 *
 *     waiting ──► syncing ──► terminating ──► terminated ──► finished
 *        └───────────────────────┘ (terminated before it was started)
 *
 * - `waiting`: an older pod with the same full name is not gone yet.
 * - `syncing`: containers are started and kept as the spec says.
 * - `terminating`: containers are being stopped; none is ever started again.
 * - `terminated`: no container runs; volumes and cgroups are being released.
 * - `finished`: all resources are released; dead containers stay in the runtime until the pod leaves its source.
 */
export type PodWorkerState =
  | { readonly phase: 'waiting' }
  | { readonly phase: 'syncing' }
  | { readonly phase: 'terminating'; readonly graceSeconds: number; readonly failure?: PodFailure }
  | { readonly phase: 'terminated'; readonly failure?: PodFailure }
  | { readonly phase: 'finished'; readonly failure?: PodFailure };

export type PodWorkerEvent =
  /** No older pod with this full name is left. */
  | { readonly type: 'unblocked' }
  /** Requested by its source, an eviction or an operator. */
  | { readonly type: 'killRequested'; readonly graceSeconds: number; readonly failure?: PodFailure }
  /** All containers exited and none is restarted. */
  | { readonly type: 'podEnded'; readonly graceSeconds: number; readonly failure?: PodFailure }
  | { readonly type: 'containersStopped' }
  | { readonly type: 'resourcesReleased' };

/** Phases never go back. The grace period is only shortened, to one second at least. The first failure is kept. */
export function nextState(state: PodWorkerState, event: PodWorkerEvent): PodWorkerState {
  switch (event.type) {
    case 'unblocked':
      return state.phase === 'waiting' ? { phase: 'syncing' } : state;
    case 'killRequested':
    case 'podEnded':
      return terminating(state, Math.max(1, event.graceSeconds), event.failure);
    case 'containersStopped':
      return state.phase === 'terminating' ? { phase: 'terminated', ...keepFailure(state) } : state;
    case 'resourcesReleased':
      return state.phase === 'terminated' ? { phase: 'finished', ...keepFailure(state) } : state;
    default:
      return assertNever(event);
  }
}

function keepFailure({ failure }: { readonly failure?: PodFailure }): { readonly failure?: PodFailure } {
  return failure ? { failure } : {};
}

function terminating(state: PodWorkerState, requested: number, failure: PodFailure | undefined): PodWorkerState {
  if (state.phase === 'terminated' || state.phase === 'finished') return state;
  const before = state.phase === 'terminating' ? state : undefined;
  const first = before?.failure ?? failure;
  const graceSeconds = Math.min(before?.graceSeconds ?? requested, requested);
  if (before?.graceSeconds === graceSeconds && before.failure === first) return before;
  return { phase: 'terminating', graceSeconds, ...(first && { failure: first }) };
}
