import type { Pod, RuntimeClass } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import type { ResourceList } from '../../api/pod-resources.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { SourceError } from './pod-source.ts';

export type AppliedPod =
  | { readonly pod: Pod; readonly error?: undefined }
  | { readonly pod?: undefined; readonly error: SourceError };

/**
 * Applies a runtime class to a static pod as the API server's admission does: sets overhead and node selector. A
 * missing class is reported when the pod starts: it may appear later.
 */
export function applyRuntimeClass(pod: Pod, classes: readonly RuntimeClass[]): AppliedPod {
  const { runtimeClassName, overhead = {}, nodeSelector = {} } = pod.spec;
  const found = classes.find(({ metadata }) => metadata.name === runtimeClassName);
  if (!found) return { pod };
  const fixed = found.overhead?.podFixed;
  if (fixed && Object.keys(overhead).length > 0 && !sameAmounts(fixed, overhead)) {
    return rejectedPod(pod, "Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  }
  const selector = found.scheduling?.nodeSelector ?? {};
  const conflict = Object.keys(selector).find(
    (key) => Object.hasOwn(nodeSelector, key) && nodeSelector[key] !== selector[key],
  );
  if (conflict !== undefined) {
    const both = `runtimeClass.scheduling.nodeSelector[${conflict}] = ${selector[conflict]}; pod.spec.nodeSelector[${conflict}] = ${nodeSelector[conflict]}`;
    return rejectedPod(pod, `conflict: ${both}`);
  }
  const added = {
    ...(fixed && { overhead: fixed }),
    ...(found.scheduling?.nodeSelector && { nodeSelector: { ...nodeSelector, ...selector } }),
  };
  return { pod: Object.keys(added).length === 0 ? pod : { ...pod, spec: { ...pod.spec, ...added } } };
}

function sameAmounts(a: ResourceList, b: ResourceList): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => {
    const [left, right] = [a[name], b[name]];
    return left !== undefined && right !== undefined && parseQuantity(left).compare(parseQuantity(right)) === 0;
  });
}

function rejectedPod(pod: Pod, reason: string): AppliedPod {
  return { error: { location: podFullName(pod), message: `pod rejected: ${reason}` } };
}
