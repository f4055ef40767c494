import type { Pod, Toleration } from '../../api/generated/core-v1.ts';
import { qosClass } from '../../api/qos.ts';
import type { PressureCondition } from '../node/signals/pressure-condition.ts';
import { isCriticalPod } from '../resources/critical-pod.ts';

const MEMORY_TAINT = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

/**
 * Under memory pressure alone only best-effort pods that do not tolerate its taint are rejected, under other pressure
 * every pod. Critical pods are admitted.
 */
export function evictionRejection(
  pod: Pod,
  conditions: ReadonlySet<PressureCondition>,
): { readonly reason: 'Evicted'; readonly message: string } | undefined {
  if (conditions.size === 0 || isCriticalPod(pod)) return undefined;
  const isMemoryAlone = conditions.size === 1 && conditions.has('MemoryPressure');
  const toleratesMemory = qosClass(pod) !== 'BestEffort' || (pod.spec.tolerations ?? []).some(toleratesMemoryTaint);
  if (isMemoryAlone && toleratesMemory) return undefined;
  return { reason: 'Evicted', message: `The node had condition: [${[...conditions].join(' ')}]. ` };
}

/** The taint has no value. */
function toleratesMemoryTaint({ key = '', effect = '', operator = 'Equal', value = '' }: Toleration): boolean {
  if (effect !== '' && effect !== MEMORY_TAINT.effect) return false;
  if (key !== '' && key !== MEMORY_TAINT.key) return false;
  return operator === 'Exists' || ((operator === 'Equal' || operator === '') && value === '');
}
