import type { Pod } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import type { SourceSnapshot } from './pod-source.ts';

/**
 * A text that can be understood only in part says nothing about the pods that it had before and that are not among
 * those understood: they stay wanted until it is mended.
 */
export function keepLostPods(before: readonly Pod[], now: SourceSnapshot): SourceSnapshot {
  if (now.problems.length === 0) return now;
  const names = new Set(now.pods.map(podFullName));
  return { ...now, pods: [...now.pods, ...before.filter((pod) => !names.has(podFullName(pod)))] };
}
