import { podFullName } from '../../api/pod-names.ts';
import type { ParsedManifest } from './parse-static-pods.ts';
import type { SourceSnapshot } from './pod-source.ts';
import { NO_OBJECTS, retainMissingObjects } from './source-objects.ts';

/**
 * A text that can be understood only in part says nothing about what it held before and that is not among what was
 * understood: that stays wanted until the text is mended.
 */
export function retainLastGood(before: SourceSnapshot | undefined, { isComplete: isWhole, ...now }: ParsedManifest): SourceSnapshot {
  if (isWhole || before === undefined) return now;
  const names = new Set(now.pods.map(podFullName));
  const pods = [...now.pods, ...before.pods.filter((pod) => !names.has(podFullName(pod)))];
  const objects = before.objects ? retainMissingObjects(before.objects, now.objects ?? NO_OBJECTS) : now.objects;
  return { ...now, pods, ...(objects && { objects }) };
}
