import { assertNever } from '../../base/assert-never.ts';
import type { ContainerEnd } from '../oci/oci-runtime.ts';
import type { ContainerLife } from '../store/container-record.ts';

/** What can happen to a container. */
export type ContainerEvent =
  | { readonly type: 'created' }
  | { readonly type: 'startBegan' }
  /** Its program never ran, and nothing of the start is left. */
  | { readonly type: 'startUndone' }
  | { readonly type: 'started'; readonly pid: number; readonly startedAtNs: bigint; readonly bootId: string }
  | ContainerEnded;

export interface ContainerEnded {
  readonly type: 'ended';
  readonly finishedAtNs: bigint;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
}

/** kubelet tells a start that failed by this code and reason. */
const START_ERROR = { exitCode: 128, reason: 'StartError' } as const;
/** Nobody knows how it ended. */
const UNKNOWN = { exitCode: 255, reason: 'Unknown' } as const;

/** What does not fit the phase changes nothing: an end stays as it was told first. */
export function nextLife(life: ContainerLife, event: ContainerEvent): ContainerLife {
  switch (event.type) {
    case 'created':
      return life.phase === 'creating' ? { phase: 'created' } : life;
    case 'startBegan':
      return life.phase === 'created' ? { phase: 'starting' } : life;
    case 'startUndone':
      return life.phase === 'starting' ? { phase: 'created' } : life;
    case 'started': {
      const { type: _, ...start } = event;
      return life.phase === 'starting' ? { phase: 'running', ...start } : life;
    }
    case 'ended':
      return life.phase === 'exited' ? life : exited(life, event);
    default:
      return assertNever(event);
  }
}

function exited(life: ContainerLife, { type: _, ...end }: ContainerEnded): ContainerLife {
  if (life.phase !== 'running') return { phase: 'exited', ...end };
  const { startedAtNs } = life;
  // The monitor's time may be coarser than ours: nothing ends before it began.
  const late = end.finishedAtNs < startedAtNs && { finishedAtNs: startedAtNs };
  return { phase: 'exited', ...end, startedAtNs, ...late };
}

/** How the end that the monitor tells is shown. */
export function endAsTold(end: ContainerEnd, nowNs: bigint): ContainerEnded {
  if (end.kind === 'monitorLost') {
    const message = 'the monitor of the container (conmon) is gone: nobody saw how the container ended';
    return { type: 'ended', finishedAtNs: nowNs, ...UNKNOWN, message };
  }
  const { exitCode, oomKilled, finishedAtMs } = end;
  const reason = oomKilled ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error';
  return { type: 'ended', finishedAtNs: nanoseconds(finishedAtMs), exitCode, reason, message: '' };
}

export function startFailed(message: string, nowNs: bigint): ContainerEnded {
  return { type: 'ended', finishedAtNs: nowNs, ...START_ERROR, message };
}

export function endUnseen(message: string, nowNs: bigint): ContainerEnded {
  return { type: 'ended', finishedAtNs: nowNs, ...UNKNOWN, message };
}

export function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms)) * 1_000_000n;
}
