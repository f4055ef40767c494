import type { ContainerStateTerminated, ContainerStatus, PodStatus } from '../../api/generated/core-v1.ts';

/** A container that waits for one of these has begun anew; for anything else, it has not. */
const BEGUN: ReadonlySet<string | undefined> = new Set(['ContainerCreating', 'PodInitializing']);

/** The last end of a container that a status tells of. */
export interface ContainerEnd {
  readonly label: 'init' | 'container';
  readonly name: string;
  /** How often it had been restarted before. */
  readonly count: number;
  readonly end: ContainerStateTerminated;
  /** Whether it has not been started again since. */
  readonly isOver: boolean;
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
  const isOver = state?.terminated !== undefined || (state?.waiting !== undefined && !BEGUN.has(state.waiting.reason));
  return end ? [{ label, name, count: isOver ? restartCount : restartCount - 1, end, isOver }] : [];
}
