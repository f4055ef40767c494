import { assertNever } from '../../base/assert-never.ts';
import type { PodFailure } from '../pod/pod-failure.ts';

/**
 * Where the worker of a pod stands.
 *
 *     waiting ──► syncing ──► terminating ──► terminated ──► finished
 *        └───────────────────────┘ (ended before it was ever started)
 *
 * - `waiting`: an older pod of the same full name is not gone yet.
 * - `syncing`: containers are started and kept as the pod says.
 * - `terminating`: containers are being stopped; none is ever started again.
 * - `terminated`: no container runs; volumes and cgroups are being given back.
 * - `finished`: nothing is held any more; what the runtime remembers is kept until the pod leaves its source.
 */
export type PodWorkerState =
  | { readonly phase: 'waiting' }
  | { readonly phase: 'syncing' }
  | { readonly phase: 'terminating'; readonly graceSeconds: number; readonly failure?: PodFailure }
  | { readonly phase: 'terminated'; readonly failure?: PodFailure }
  | { readonly phase: 'finished'; readonly failure?: PodFailure };

export type PodWorkerEvent =
  /** No other pod of this name is in the way any more. */
  | { readonly type: 'nameFree' }
  /** Somebody wants it gone: its source, an eviction, an operator. */
  | { readonly type: 'killRequested'; readonly graceSeconds: number; readonly failure?: PodFailure }
  /** Its containers ended by themselves and will not be restarted. */
  | { readonly type: 'podEnded'; readonly graceSeconds: number; readonly failure?: PodFailure }
  | { readonly type: 'containersStopped' }
  | { readonly type: 'resourcesReleased' };

/** A phase never moves back; a grace period only shrinks, and never below one second; the first failure stands. */
export function nextState(state: PodWorkerState, event: PodWorkerEvent): PodWorkerState {
  switch (event.type) {
    case 'nameFree':
      return state.phase === 'waiting' ? { phase: 'syncing' } : state;
    case 'killRequested':
    case 'podEnded':
      return terminating(state, Math.max(1, event.graceSeconds), event.failure);
    case 'containersStopped':
      return state.phase === 'terminating' ? { phase: 'terminated', ...failureOf(state) } : state;
    case 'resourcesReleased':
      return state.phase === 'terminated' ? { phase: 'finished', ...failureOf(state) } : state;
    default:
      return assertNever(event);
  }
}

function failureOf({ failure }: { readonly failure?: PodFailure }): { readonly failure?: PodFailure } {
  return failure ? { failure } : {};
}

function terminating(state: PodWorkerState, asked: number, failure: PodFailure | undefined): PodWorkerState {
  if (state.phase === 'terminated' || state.phase === 'finished') return state;
  const before = state.phase === 'terminating' ? state : undefined;
  const why = before?.failure ?? failure;
  const graceSeconds = Math.min(before?.graceSeconds ?? asked, asked);
  if (before?.graceSeconds === graceSeconds && before.failure === why) return before;
  return { phase: 'terminating', graceSeconds, ...(why && { failure: why }) };
}
