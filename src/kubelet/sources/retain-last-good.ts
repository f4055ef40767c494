import { podFullName } from '../../api/pod-names.ts';
import type { ParsedManifest } from './parse-static-pods.ts';
import type { SourceSnapshot } from './pod-source.ts';
import { NO_OBJECTS, retainMissingObjects } from './source-objects.ts';

/**
 * Keeps the previous pods and objects that are missing from a manifest with errors: they may be in the part that could
 * not be parsed. They stay desired until the manifest is fixed.
 */
export function retainLastGood(
  before: SourceSnapshot | undefined,
  { isComplete, ...now }: ParsedManifest,
): SourceSnapshot {
  if (isComplete || before === undefined) return now;
  const names = new Set(now.pods.map(podFullName));
  const pods = [...now.pods, ...before.pods.filter((pod) => !names.has(podFullName(pod)))];
  const objects = before.objects ? retainMissingObjects(before.objects, now.objects ?? NO_OBJECTS) : now.objects;
  return { ...now, pods, ...(objects && { objects }) };
}
