import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import type { BoundClaim, PodClaims } from './pod-claims.ts';

const PROTECTION = 'kubernetes.io/pvc-protection';

/** Claims and persistent volumes at the API server. A node may get those of its pods, but neither list nor watch them. */
export class ClusterClaims implements PodClaims {
  readonly wakesPods = false;
  readonly #api: Pick<ApiServer, 'get'>;

  constructor(api: Pick<ApiServer, 'get'>) {
    this.#api = api;
  }

  async find({ metadata: { namespace } }: Pod, name: string, signal: AbortSignal): Promise<BoundClaim> {
    const claim = await this.#api
      .get({ resource: 'persistentvolumeclaims', namespace, name }, signal)
      .catch((error: unknown) => {
        signal.throwIfAborted();
        throw new Error(`failed to fetch PVC from API server: ${errorText(error)}`, { cause: error });
      });
    const volumeName = boundVolumeName(claim);
    const volume = await this.#api
      .get({ resource: 'persistentvolumes', namespace: '', name: volumeName }, signal)
      .catch((error: unknown) => {
        signal.throwIfAborted();
        throw new Error(`failed to fetch PV ${volumeName} from API server: ${errorText(error)}`, { cause: error });
      });
    checkClaimRef(volume, claim);
    return { claim, volume };
  }
}

/** Throws kubelet's message for a claim that is not bound. */
function boundVolumeName({ metadata, spec, status }: PersistentVolumeClaim): string {
  // A claim in use is protected; one that is not must not be used by a new pod.
  if (metadata.deletionTimestamp && !metadata.finalizers?.includes(PROTECTION)) throw new Error('PVC is being deleted');
  if (status?.phase !== 'Bound') throw new Error('PVC is not bound');
  if (!spec.volumeName) throw new Error('PVC has empty pvc.Spec.VolumeName');
  return spec.volumeName;
}

function checkClaimRef(
  { metadata: { name }, spec: { claimRef } }: PersistentVolume,
  { metadata }: PersistentVolumeClaim,
): void {
  if (!claimRef) {
    throw new Error(
      `found PV object ${name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    );
  }
  if (claimRef.uid === metadata.uid) return;
  throw new Error(
    `found PV object ${name} but its pv.Spec.ClaimRef.UID ${claimRef.uid} does not point to claim.UID ${metadata.uid}`,
  );
}
