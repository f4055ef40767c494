import { apiReference } from '../../api/api-references.ts';
import { type Decoded, decodeManifest, type Manifest } from '../../api/decode/decode-manifest.ts';
import { formatManifestError, type ManifestError } from '../../api/decode/manifest-error.ts';
import { defaultPod } from '../../api/defaults/default-pod.ts';
import type { Pod } from '../../api/generated/core-v1.ts';
import { toStaticPod } from '../../api/static-pod.ts';
import { locateFieldErrors } from '../../api/validation/locate-field-errors.ts';
import { validatePod } from '../../api/validation/validate-pod.ts';
import { assertNever } from '../../base/assert-never.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { SourceSnapshot } from './pod-source.ts';
import { withDefaultNamespace, decodeObjects } from './source-objects.ts';

/** A longer text is none, as for kubelet. */
export const MAX_MANIFEST_BYTES = 10 * 2 ** 20;

export interface StaticOrigin {
  readonly source: 'file' | 'http';
  /** The file or the address. */
  readonly location: string;
  readonly nodeName: string;
  readonly nowMs: number;
  /** Absent: `none`. */
  readonly references?: StaticReferences;
}

/**
 * What static pods may refer to: nothing, as for kubelet; what the API server has, as for a kubelet without its gate
 * PreventStaticPodAPIReferences; or what stands beside them in the manifests.
 */
export type StaticReferences = 'none' | 'api' | 'beside';

/** What a text holds. */
export interface ParsedManifest extends SourceSnapshot {
  /** Whether everything in it was understood, though not everything may be of use. */
  readonly isComplete: boolean;
}

/**
 * The pods of a manifest, as kubelet takes them: decoded, defaulted, named after the node, and checked as the API server
 * would check them. What is wrong is told by line and column; the rest of the text is used.
 */
export function parseStaticPods(text: string, origin: StaticOrigin): ParsedManifest {
  const { location, references = 'none' } = origin;
  const manifest = decodeManifest(text, { file: location });
  const beside = references === 'beside' ? decodeObjects(manifest) : undefined;
  const problems = [...manifest.errors, ...(beside?.problems ?? [])];
  const pods: Pod[] = [];
  for (const decoded of manifest.pods) {
    const pod = withDefaultNamespace(defaultPod(decoded.object));
    // Checked before it is renamed: a user looks for the name that the manifest has.
    const faults = locateFieldErrors(validatePod(pod), decoded);
    if (faults.length === 0) faults.push(...forbiddenReference(pod, references, decoded));
    problems.push(...faults);
    if (faults.length === 0) pods.push(staticPod(pod, origin));
  }
  const unused = beside ? [] : unusedObjects(manifest);
  const told = [...problems, ...unused].map((problem) => ({ location, message: formatManifestError(problem) }));
  const isWhole = problems.length === 0;
  return { pods, errors: told, isComplete: isWhole, ...(beside && { objects: beside.objects }) };
}

function forbiddenReference(pod: Pod, references: StaticReferences, { place }: Decoded<Pod>): ManifestError[] {
  const message = forbiddenReferenceMessage(pod, references);
  return message === undefined ? [] : [{ ...place, path: '', message }];
}

function forbiddenReferenceMessage(pod: Pod, references: StaticReferences): string | undefined {
  switch (references) {
    case 'none': {
      const reference = apiReference(pod);
      return reference && `static pods may not reference ${reference}`;
    }
    case 'api': {
      const { volumes = [], resourceClaims = [] } = pod.spec;
      const usesBundle = volumes.some(({ projected }) => projected?.sources?.some((each) => each.clusterTrustBundle));
      if (usesBundle) return 'static pods may not use ClusterTrustBundle projected volume sources';
      return resourceClaims.length > 0 ? 'static pods may not use ResourceClaims' : undefined;
    }
    case 'beside':
      return undefined; // what is not there is told when the pod starts
    default:
      return assertNever(references);
  }
}

function unusedObjects({ configMaps, secrets, runtimeClasses }: Manifest): ManifestError[] {
  return [...configMaps, ...secrets, ...runtimeClasses].map(({ object, place }) => {
    const message = `${object.kind} ${object.metadata.name} is of no use here: static pods may not refer to it`;
    return { ...place, path: '', message };
  });
}

function staticPod(pod: Pod, { source, location, nodeName, nowMs }: StaticOrigin): Pod {
  const seen = formatNanoTime(BigInt(Math.round(nowMs)) * 1_000_000n);
  return toStaticPod(pod, { source, location, nodeName, seen });
}
