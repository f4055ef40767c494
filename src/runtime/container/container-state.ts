import { assertNever } from '../../base/assert-never.ts';
import type { ContainerExit } from '../oci/oci-runtime.ts';
import type { ContainerRecordState } from '../store/container-record.ts';

/** Events that change the state of a container. */
export type ContainerEvent =
  | { readonly type: 'created' }
  | { readonly type: 'startBegan' }
  /** The program never ran, and the interrupted start was undone. */
  | { readonly type: 'startUndone' }
  | { readonly type: 'started'; readonly pid: number; readonly startedAtNs: bigint; readonly bootId: string }
  | ContainerExited;

export interface ContainerExited {
  readonly type: 'ended';
  readonly finishedAtNs: bigint;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
}

/** Exit code and reason by which kubelet recognizes a failed start. */
const START_ERROR = { exitCode: 128, reason: 'StartError' } as const;
/** The exit was not observed. */
const UNKNOWN = { exitCode: 255, reason: 'Unknown' } as const;

/** Events that do not apply to the phase change nothing: the first recorded exit stays. */
export function nextContainerState(state: ContainerRecordState, event: ContainerEvent): ContainerRecordState {
  switch (event.type) {
    case 'created':
      return state.phase === 'creating' ? { phase: 'created' } : state;
    case 'startBegan':
      return state.phase === 'created' ? { phase: 'starting' } : state;
    case 'startUndone':
      return state.phase === 'starting' ? { phase: 'created' } : state;
    case 'started': {
      const { type: _, ...start } = event;
      return state.phase === 'starting' ? { phase: 'running', ...start } : state;
    }
    case 'ended':
      return state.phase === 'exited' ? state : exitedState(state, event);
    default:
      return assertNever(event);
  }
}

function exitedState(state: ContainerRecordState, { type: _, ...end }: ContainerExited): ContainerRecordState {
  if (state.phase !== 'running') return { phase: 'exited', ...end };
  const { startedAtNs } = state;
  // The monitor's clock may be coarser than ours: the exit is never before the start.
  const late = end.finishedAtNs < startedAtNs && { finishedAtNs: startedAtNs };
  return { phase: 'exited', ...end, startedAtNs, ...late };
}

/** The exit that the monitor reports. */
export function monitoredExit(end: ContainerExit, nowNs: bigint): ContainerExited {
  if (end.kind === 'monitorLost') {
    const message = 'the monitor of the container (conmon) is gone: the exit was not observed';
    return { type: 'ended', finishedAtNs: nowNs, ...UNKNOWN, message };
  }
  const { exitCode, oomKilled, finishedAtMs } = end;
  const reason = oomKilled ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error';
  return { type: 'ended', finishedAtNs: nanoseconds(finishedAtMs), exitCode, reason, message: '' };
}

export function failedStart(message: string, nowNs: bigint): ContainerExited {
  return { type: 'ended', finishedAtNs: nowNs, ...START_ERROR, message };
}

export function unknownExit(message: string, nowNs: bigint): ContainerExited {
  return { type: 'ended', finishedAtNs: nowNs, ...UNKNOWN, message };
}

export function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms)) * 1_000_000n;
}
