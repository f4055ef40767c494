/** Which PersistentVolume suits a claim: the rules of the controller of persistent volumes. */

import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts';
import { parseLabelSelector } from '../../api/label-selector.ts';
import { parseQuantity, type Quantity } from '../../base/quantity.ts';

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

/** `undefined` if the claim leaves the class to the node; empty if it asks for a volume without a class. */
export function classOfClaim({ metadata, spec }: PersistentVolumeClaim): string | undefined {
  return metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName;
}

export function classOfVolume({ metadata, spec }: PersistentVolume): string {
  return metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? '';
}

/** Whether the volume names this claim as its own. */
export function isReservedFor({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  if (claimRef?.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return !claimRef.uid || claimRef.uid === metadata.uid;
}

/**
 * The best of the available volumes: one that is reserved for the claim, else the smallest of those with the fewest
 * access modes. `classes` are the classes that suit the claim.
 */
export function matchVolume(
  claim: PersistentVolumeClaim,
  available: readonly PersistentVolume[],
  classes: readonly string[],
): PersistentVolume | undefined {
  const suiting = available.filter((volume) => suits(volume, claim) && isFreeFor(volume, claim, classes));
  const reserved = suiting.filter((volume) => isReservedFor(volume, claim));
  const [best] = (reserved.length > 0 ? reserved : suiting).toSorted(
    (a, b) => modesOf(a).length - modesOf(b).length || capacityOf(a).compare(capacityOf(b)),
  );
  return best;
}

/** Why the claim cannot have a volume that it names, in the words of the controller; `undefined` if it can. */
export function mismatch(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  classes: readonly string[],
): string | undefined {
  if (capacityOf(volume).compare(requestOf(claim)) < 0) return 'requested PV is too small';
  if (!classes.includes(classOfVolume(volume))) return 'storageClassName does not match';
  if (!hasAttributesOf(volume, claim)) return 'volumeAttributesClassName does not match';
  if (modeOf(volume) !== modeOf(claim)) return 'incompatible volumeMode';
  return hasModesOf(volume, claim) ? undefined : 'incompatible accessMode';
}

export function requestOf({ spec }: PersistentVolumeClaim): Quantity {
  return parseQuantity(spec.resources?.requests?.['storage'] ?? 0);
}

function suits(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (
    capacityOf(volume).compare(requestOf(claim)) >= 0 &&
    modeOf(volume) === modeOf(claim) &&
    hasAttributesOf(volume, claim) &&
    hasModesOf(volume, claim)
  );
}

function isFreeFor(volume: PersistentVolume, claim: PersistentVolumeClaim, classes: readonly string[]): boolean {
  if (volume.spec.claimRef) return isReservedFor(volume, claim);
  const { selector } = claim.spec;
  const isSelected = !selector || parseLabelSelector(selector).matches(volume.metadata.labels ?? {});
  return isSelected && classes.includes(classOfVolume(volume));
}

function hasAttributesOf({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (spec.volumeAttributesClassName ?? '') === (claim.spec.volumeAttributesClassName ?? '');
}

function hasModesOf(volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean {
  return (spec.accessModes ?? []).every((mode) => modesOf(volume).includes(mode));
}

function modesOf({ spec }: PersistentVolume): readonly string[] {
  return [...new Set(spec.accessModes)];
}

function modeOf({ spec }: PersistentVolume | PersistentVolumeClaim): string {
  return spec.volumeMode ?? 'Filesystem';
}

function capacityOf({ spec }: PersistentVolume): Quantity {
  return parseQuantity(spec.capacity?.['storage'] ?? 0);
}
