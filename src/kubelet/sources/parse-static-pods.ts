import { type Decoded, decodeManifest } from '../../api/decode-manifest.ts';
import { defaultPod } from '../../api/default-pod.ts';
import { formatFieldError } from '../../api/field-error.ts';
import type { Pod } from '../../api/generated/core-v1.ts';
import { formatProblem } from '../../api/manifest-problem.ts';
import { toStaticPod } from '../../api/static-pod.ts';
import { validatePod } from '../../api/validate-pod.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { SourceProblem, SourceSnapshot } from './pod-source.ts';

export interface StaticOrigin {
  readonly source: 'file' | 'http';
  /** The file or the address. */
  readonly location: string;
  readonly nodeName: string;
  readonly nowMs: number;
}

/**
 * The pods of a manifest, as kubelet takes them: decoded, defaulted, named after the node, and checked as the API server
 * would check them. What is wrong is told by line and column; the other pods of the text are used.
 */
export function parseStaticPods(text: string, origin: StaticOrigin): SourceSnapshot {
  const { location } = origin;
  const manifest = decodeManifest(text, { file: location });
  const problems: SourceProblem[] = manifest.problems.map((problem) => ({ location, message: formatProblem(problem) }));
  const pods: Pod[] = [];
  for (const decoded of manifest.pods) {
    const pod = inNamespace(defaultPod(decoded.object));
    // Checked before it is renamed: a user looks for the name that the manifest has.
    const faults = faultsOf(decoded, pod, location);
    problems.push(...faults);
    if (faults.length === 0) pods.push(staticPod(pod, origin));
  }
  for (const { object, place } of [...manifest.configMaps, ...manifest.secrets]) {
    const message = `${object.kind} ${object.metadata.name} is not supported yet`;
    problems.push({ location, message: formatProblem({ ...place, path: '', message }) });
  }
  return { pods, problems };
}

function inNamespace(pod: Pod): Pod {
  const { metadata } = pod;
  return { ...pod, metadata: { ...metadata, namespace: metadata.namespace || 'default' } };
}

function staticPod(pod: Pod, { source, location, nodeName, nowMs }: StaticOrigin): Pod {
  const seen = formatNanoTime(BigInt(Math.round(nowMs)) * 1_000_000n);
  return toStaticPod(pod, { source, location, nodeName, seen });
}

function faultsOf(decoded: Decoded<Pod>, pod: Pod, location: string): SourceProblem[] {
  return validatePod(pod).map((fault) => {
    const place = decoded.locate(fault.path);
    return { location, message: formatProblem({ ...place, path: fault.path, message: formatFieldError(fault) }) };
  });
}
