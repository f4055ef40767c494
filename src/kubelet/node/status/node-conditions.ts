import type { NodeCondition } from '../../../api/generated/core-v1.ts';
import { goErrorList } from '../../../base/go/go-error-list.ts';
import { formatTime } from '../../../base/rfc3339.ts';
import type { EventReason } from '../../pod/event-reason.ts';
import type { PressureCondition } from '../signals/pressure-condition.ts';

/** The conditions of a node, and the reasons of events for those that have changed. */
export interface ComputedConditions {
  readonly conditions: readonly NodeCondition[];
  readonly events: readonly EventReason[];
}

interface PressureTexts {
  readonly reason: string;
  readonly message: string;
  /** The reason of the event. */
  readonly event: EventReason;
}

const PRESSURES: readonly (readonly [PressureCondition, under: PressureTexts, free: PressureTexts])[] = [
  [
    'MemoryPressure',
    {
      reason: 'KubeletHasInsufficientMemory',
      message: 'kubelet has insufficient memory available',
      event: 'NodeHasInsufficientMemory',
    },
    {
      reason: 'KubeletHasSufficientMemory',
      message: 'kubelet has sufficient memory available',
      event: 'NodeHasSufficientMemory',
    },
  ],
  [
    'DiskPressure',
    { reason: 'KubeletHasDiskPressure', message: 'kubelet has disk pressure', event: 'NodeHasDiskPressure' },
    { reason: 'KubeletHasNoDiskPressure', message: 'kubelet has no disk pressure', event: 'NodeHasNoDiskPressure' },
  ],
  [
    'PIDPressure',
    {
      reason: 'KubeletHasInsufficientPID',
      message: 'kubelet has insufficient PID available',
      event: 'NodeHasInsufficientPID',
    },
    {
      reason: 'KubeletHasSufficientPID',
      message: 'kubelet has sufficient PID available',
      event: 'NodeHasSufficientPID',
    },
  ],
];

export interface ConditionInputs {
  readonly pressure: ReadonlySet<PressureCondition>;
  /** Why the node is not ready. Empty: it is. */
  readonly notReadyReasons: readonly string[];
  readonly nowMs: number;
}

/**
 * All conditions of the node. Those of other writers keep their value and position, new ones are appended, and Ready is
 * last.
 */
export function nodeConditions(before: readonly NodeCondition[], view: ConditionInputs): ComputedConditions {
  const now = formatTime(view.nowMs);
  const events: EventReason[] = [];
  const wanted = PRESSURES.map(([type, under, free]): NodeCondition => {
    const isUnder = view.pressure.has(type);
    const { event, ...words } = isUnder ? under : free;
    const status = isUnder ? 'True' : 'False';
    const was = before.find((each) => each.type === type);
    if (was?.status === status) return { ...was, lastHeartbeatTime: now };
    events.push(event);
    return { type, status, ...words, lastHeartbeatTime: now, lastTransitionTime: now };
  });
  const wasReady = before.find(({ type }) => type === 'Ready');
  const ready = readyCondition(view.notReadyReasons);
  if (wasReady && wasReady.status !== ready.status) events.push(ready.status === 'True' ? 'NodeReady' : 'NodeNotReady');
  const isSame = wasReady?.status === ready.status;
  const since = isSame ? wasReady.lastTransitionTime : now;
  wanted.push({ ...ready, lastHeartbeatTime: now, lastTransitionTime: since });
  return { conditions: mergeConditions(before, wanted), events };
}

function readyCondition(notReadyReasons: readonly string[]): NodeCondition {
  if (notReadyReasons.length === 0) {
    return { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' };
  }
  return { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: goErrorList(notReadyReasons) };
}

function mergeConditions(before: readonly NodeCondition[], wanted: readonly NodeCondition[]): readonly NodeCondition[] {
  const kept = before.map((each) => wanted.find(({ type }) => type === each.type) ?? each);
  return [...kept, ...wanted.filter(({ type }) => !before.some((each) => each.type === type))];
}
