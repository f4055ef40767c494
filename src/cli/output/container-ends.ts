import type { ContainerStateTerminated, ContainerStatus, PodStatus } from '../../api/generated/core-v1.ts';

/** Waiting reasons of a container that is being started. */
const STARTING_REASONS: ReadonlySet<string | undefined> = new Set(['ContainerCreating', 'PodInitializing']);

/** The last end of a container in a status. */
export interface ContainerEnd {
  readonly label: 'init' | 'container';
  readonly name: string;
  /** Number of restarts before this end. */
  readonly count: number;
  readonly end: ContainerStateTerminated;
  /** Whether the container has not been started again since. */
  readonly isStopped: boolean;
}

export function containerEnds({ initContainerStatuses = [], containerStatuses = [] }: PodStatus): ContainerEnd[] {
  return [
    ...initContainerStatuses.flatMap((status) => lastEnd(status, 'init')),
    ...containerStatuses.flatMap((status) => lastEnd(status, 'container')),
  ];
}

function lastEnd(
  { name, state, lastState, restartCount }: ContainerStatus,
  label: ContainerEnd['label'],
): ContainerEnd[] {
  const end = state?.terminated ?? lastState?.terminated;
  const isOver =
    state?.terminated !== undefined || (state?.waiting !== undefined && !STARTING_REASONS.has(state.waiting.reason));
  return end ? [{ label, name, count: isOver ? restartCount : restartCount - 1, end, isStopped: isOver }] : [];
}
