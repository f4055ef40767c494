import type { Decoded } from './decode-manifest.ts';
import { formatFieldError } from './field-error.ts';
import type { Pod } from './generated/core-v1.ts';
import type { ManifestProblem } from './manifest-problem.ts';
import { validatePod } from './validate-pod.ts';

/** What is wrong with a pod, and where it stands in the manifest that the pod was made from. */
export function podProblems(pod: Pod, { locate }: Decoded<Pod>): ManifestProblem[] {
  return validatePod(pod).map((error) => ({
    ...locate(error.path),
    path: error.path,
    message: formatFieldError(error),
  }));
}
