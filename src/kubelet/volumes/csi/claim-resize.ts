import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimCondition,
} from '../../../api/generated/core-v1.ts';
import { parseQuantity, type Quantity } from '../../../base/quantity.ts';

const STORAGE = 'storage';
const NOT_REQUIRED = 'volume.kubernetes.io/node-expansion-not-required';
const RESIZE_CONDITIONS: ReadonlySet<string> = new Set([
  'FileSystemResizePending',
  'Resizing',
  'ControllerResizeError',
  'NodeResizeError',
]);

/** What the node has to do about the size of a volume. */
export type ExpansionPlan =
  /** The volume has its size, or the controller is not done with it. `size` is what the node knows from now on. */
  | { readonly kind: 'none'; readonly size: Quantity }
  | {
      readonly kind: 'expand';
      readonly newSize: Quantity;
      /** The controller follows the progress of the node. Controllers before v1.23 do not. */
      readonly withRecovery: boolean;
      /** Another node has reported the new size: nothing is written to the claim. */
      readonly isReported: boolean;
    };

/** Decides about a volume that has `knownSize` on this node, as kubelet does. */
export function planExpansion(
  claim: PersistentVolumeClaim,
  pv: PersistentVolume,
  knownSize: Quantity | undefined,
): ExpansionPlan {
  const pvSize = sizeOf(pv.spec.capacity);
  const reported = sizeOf(claim.status?.capacity);
  const size = knownSize ?? reported;
  if (!pvSize || !size || pvSize.compare(size) <= 0) return { kind: 'none', size: size ?? parseQuantity('0') };
  const status = claim.status?.allocatedResourceStatuses?.[STORAGE] ?? '';
  const allocated = claim.status?.allocatedResources;
  if (status === '' && !allocated) {
    const isReported = reported !== undefined && reported.compare(pvSize) >= 0;
    return { kind: 'expand', newSize: pvSize, withRecovery: false, isReported };
  }
  const newSize = sizeOf(allocated) ?? parseQuantity('0');
  const isReported = status === '' && reported !== undefined && reported.compare(newSize) >= 0;
  const isOfAllNodes = claim.spec.accessModes?.includes('ReadWriteMany') && !claim.metadata.annotations?.[NOT_REQUIRED];
  const isPending = status === 'NodeResizePending' || status === 'NodeResizeInProgress';
  if (isPending || (isReported && isOfAllNodes)) return { kind: 'expand', newSize, withRecovery: true, isReported };
  return { kind: 'none', size: isReported ? newSize : size };
}

/** `undefined`: the object has no capacity. */
export function sizeOf(capacity: Readonly<Record<string, string | number>> | undefined): Quantity | undefined {
  const text = capacity?.[STORAGE];
  return text === undefined ? undefined : parseQuantity(String(text));
}

/** Whether the user has asked for a size that is not the one of this expansion. */
export function isOutdated({ spec }: PersistentVolumeClaim, newSize: Quantity): boolean {
  const wanted = sizeOf(spec.resources?.requests);
  return wanted !== undefined && wanted.compare(newSize) !== 0;
}

/** The patch of the claim's status before the driver is called. It fails if the claim has changed. */
export function inProgressPatch({ metadata }: PersistentVolumeClaim): object {
  const { resourceVersion } = metadata;
  return {
    metadata: { resourceVersion },
    status: { allocatedResourceStatuses: { [STORAGE]: 'NodeResizeInProgress' } },
  };
}

/** The patch after the driver has expanded the volume: the claim shows the new size, and no resize conditions. */
export function finishedPatch({ metadata, status }: PersistentVolumeClaim, newSize: Quantity): object {
  const { resourceVersion } = metadata;
  const old = (status?.conditions ?? []).filter(({ type }) => RESIZE_CONDITIONS.has(type));
  const hasStatus = status?.allocatedResourceStatuses?.[STORAGE] !== undefined;
  return {
    metadata: { resourceVersion },
    status: {
      capacity: { [STORAGE]: newSize.toString() },
      ...(hasStatus && { allocatedResourceStatuses: { [STORAGE]: null } }),
      ...(old.length > 0 && { conditions: old.map(({ type }) => ({ type, $patch: 'delete' })) }),
    },
  };
}

/** The patch after the driver has refused for good. `isInfeasible`: the controller has to take the size back. */
export function failedPatch(
  { status }: PersistentVolumeClaim,
  error: string,
  isInfeasible: boolean,
  now: string,
): object | undefined {
  const known = status?.conditions?.find(({ type }) => type === 'NodeResizeError');
  const condition: PersistentVolumeClaimCondition = {
    type: 'NodeResizeError',
    status: 'True',
    lastTransitionTime: now,
    message: `failed to expand pvc with ${error}`,
  };
  const changes = {
    ...(isInfeasible && { allocatedResourceStatuses: { [STORAGE]: 'NodeResizeInfeasible' } }),
    // kubelet keeps a condition whose status stays the same.
    ...(known?.status !== 'True' && { conditions: [condition] }),
  };
  return Object.keys(changes).length === 0 ? undefined : { status: changes };
}
