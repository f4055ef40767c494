import { assertNever } from '../../base/assert-never.ts';
import type { PodVerdict } from '../pod/pod-verdict.ts';

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
  | { readonly phase: 'terminating'; readonly graceSeconds: number; readonly verdict?: PodVerdict }
  | { readonly phase: 'terminated'; readonly verdict?: PodVerdict }
  | { readonly phase: 'finished'; readonly verdict?: PodVerdict };

export type PodWorkerEvent =
  /** No other pod of this name is in the way any more. */
  | { readonly type: 'nameFree' }
  /** Somebody wants it gone: its source, an eviction, an operator. */
  | { readonly type: 'killRequested'; readonly graceSeconds: number; readonly verdict?: PodVerdict }
  /** Its containers ended by themselves and will not be restarted. */
  | { readonly type: 'podEnded'; readonly graceSeconds: number; readonly verdict?: PodVerdict }
  | { readonly type: 'containersStopped' }
  | { readonly type: 'resourcesReleased' };

/** A phase never moves back; a grace period only shrinks, and never below one second; the first verdict stands. */
export function nextState(state: PodWorkerState, event: PodWorkerEvent): PodWorkerState {
  switch (event.type) {
    case 'nameFree':
      return state.phase === 'waiting' ? { phase: 'syncing' } : state;
    case 'killRequested':
    case 'podEnded':
      return terminating(state, Math.max(1, event.graceSeconds), event.verdict);
    case 'containersStopped':
      return state.phase === 'terminating' ? { phase: 'terminated', ...verdictOf(state) } : state;
    case 'resourcesReleased':
      return state.phase === 'terminated' ? { phase: 'finished', ...verdictOf(state) } : state;
    default:
      return assertNever(event);
  }
}

function verdictOf({ verdict }: { readonly verdict?: PodVerdict }): { readonly verdict?: PodVerdict } {
  return verdict ? { verdict } : {};
}

function terminating(state: PodWorkerState, asked: number, verdict: PodVerdict | undefined): PodWorkerState {
  if (state.phase === 'terminated' || state.phase === 'finished') return state;
  const before = state.phase === 'terminating' ? state : undefined;
  const why = before?.verdict ?? verdict;
  const graceSeconds = Math.min(before?.graceSeconds ?? asked, asked);
  if (before?.graceSeconds === graceSeconds && before.verdict === why) return before;
  return { phase: 'terminating', graceSeconds, ...(why && { verdict: why }) };
}
