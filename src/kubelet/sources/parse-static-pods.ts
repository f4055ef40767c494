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
import { decodeObjects, withDefaultNamespace } from './source-objects.ts';

/** kubelet's limit for manifests. */
export const MAX_MANIFEST_BYTES = 10 * 2 ** 20;

export interface StaticOrigin {
  readonly source: 'file' | 'http';
  /** The file or URL. */
  readonly location: string;
  readonly nodeName: string;
  readonly nowMs: number;
  /** Absent: `none`. */
  readonly references?: StaticReferences;
}

/**
 * Which objects static pods may reference: none, as in kubelet; those of the API server, as in kubelet without the
 * feature gate PreventStaticPodAPIReferences; or those in the manifests.
 */
export type StaticReferences = 'none' | 'api' | 'manifests';

/** The content of a manifest. */
export interface ParsedManifest extends SourceSnapshot {
  /** Whether the whole text was parsed without errors; unused objects do not count. */
  readonly isComplete: boolean;
}

/**
 * Decodes, defaults, validates and renames the static pods of a manifest as kubelet does. Errors have line and column;
 * the valid rest of the text is used.
 */
export function parseStaticPods(text: string, origin: StaticOrigin): ParsedManifest {
  const { location, references = 'none' } = origin;
  const manifest = decodeManifest(text, { file: location });
  const decodedObjects = references === 'manifests' ? decodeObjects(manifest) : undefined;
  const errors = [...manifest.errors, ...(decodedObjects?.errors ?? [])];
  const pods: Pod[] = [];
  for (const decoded of manifest.pods) {
    const pod = withDefaultNamespace(defaultPod(decoded.object));
    // Validated before it is renamed: errors mention the name in the manifest.
    const podErrors = locateFieldErrors(validatePod(pod), decoded);
    if (podErrors.length === 0) podErrors.push(...forbiddenReference(pod, references, decoded));
    errors.push(...podErrors);
    if (podErrors.length === 0) pods.push(staticPod(pod, origin));
  }
  const unused = decodedObjects ? [] : unusedObjectErrors(manifest);
  const sourceErrors = [...errors, ...unused].map((error) => ({ location, message: formatManifestError(error) }));
  const isComplete = errors.length === 0;
  return { pods, errors: sourceErrors, isComplete, ...(decodedObjects && { objects: decodedObjects.objects }) };
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
    case 'manifests':
      return undefined; // missing objects are reported when the pod starts
    default:
      return assertNever(references);
  }
}

function unusedObjectErrors({ configMaps, secrets, runtimeClasses, claims, volumes }: Manifest): ManifestError[] {
  return [...configMaps, ...secrets, ...runtimeClasses, ...claims, ...volumes].map(({ object, place }) => {
    const message = `${object.kind} ${object.metadata.name} is ignored: static pods may not reference it`;
    return { ...place, path: '', message };
  });
}

function staticPod(pod: Pod, { source, location, nodeName, nowMs }: StaticOrigin): Pod {
  const seen = formatNanoTime(BigInt(Math.round(nowMs)) * 1_000_000n);
  return toStaticPod(pod, { source, location, nodeName, seen });
}
