import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts';
import type { ClaimRecord } from './claim-record.ts';
import { classOfClaim, isReservedFor, matchVolume, mismatch } from './match-volume.ts';

/** The only StorageClass of a node without a cluster: directories on its disk. */
export const LOCAL_CLASS = 'nodelet-local';

/** The volume that a claim gets. */
export type Binding =
  | { readonly kind: 'provisioned' }
  | { readonly kind: 'manifest'; readonly volume: PersistentVolume };

export interface Volumes {
  /** Those of the manifests. */
  readonly volumes: readonly PersistentVolume[];
  /** Those of all claims that have been used. */
  readonly records: readonly ClaimRecord[];
}

/**
 * Binds a claim as the controller of persistent volumes does: to the volume it is bound to already, to the one that it
 * names, to the best that suits it, else to a new directory. Throws an `Error` with the reason if it cannot be bound.
 */
export function bindClaim(claim: PersistentVolumeClaim, { volumes, records }: Volumes): Binding {
  const isOwn = (record: ClaimRecord): boolean =>
    record.namespace === claim.metadata.namespace && record.name === claim.metadata.name;
  const record = records.find(isOwn);
  if (record) return recordedBinding(claim, record, volumes);
  const others = new Map(
    records.flatMap((each) => (each.volume.kind === 'manifest' ? [[each.volume.name, each]] : [])),
  );
  const wanted = classOfClaim(claim);
  // Without a class of its own the claim has the class of the node, and suits volumes without a class too.
  const classes = wanted === undefined ? ['', LOCAL_CLASS] : [wanted];
  if (claim.spec.volumeName) return namedBinding(claim, claim.spec.volumeName, { volumes, others, classes });
  const available = volumes.filter(({ metadata }) => !others.has(metadata.name));
  const volume = matchVolume(claim, available, classes);
  if (volume) return { kind: 'manifest', volume };
  checkProvisionable(claim, wanted);
  return { kind: 'provisioned' };
}

/** A claim never changes its volume: the data would be lost to its pods. */
function recordedBinding(
  { metadata, spec }: PersistentVolumeClaim,
  { namespace, name, uid, volume }: ClaimRecord,
  volumes: readonly PersistentVolume[],
): Binding {
  const boundTo = volume.kind === 'manifest' ? volume.name : provisionedName(uid);
  if (spec.volumeName && spec.volumeName !== boundTo) {
    throw new Error(
      `PersistentVolumeClaim "${metadata.name}" is bound to PersistentVolume "${boundTo}" and names "${spec.volumeName}": release the first with 'nodelet volume rm ${namespace}/${name}'`,
    );
  }
  if (volume.kind === 'provisioned') return volume;
  const found = volumes.find((each) => each.metadata.name === volume.name);
  if (!found) {
    throw new Error(
      `PersistentVolume "${volume.name}", which PersistentVolumeClaim "${metadata.name}" is bound to, is not in the manifests`,
    );
  }
  return { kind: 'manifest', volume: found };
}

interface Candidates {
  readonly volumes: readonly PersistentVolume[];
  /** Claims by the names of the volumes that they are bound to. */
  readonly others: ReadonlyMap<string, ClaimRecord>;
  readonly classes: readonly string[];
}

function namedBinding(claim: PersistentVolumeClaim, name: string, { volumes, others, classes }: Candidates): Binding {
  const volume = volumes.find(({ metadata }) => metadata.name === name);
  if (!volume) throw new Error(`PersistentVolume "${name}" is not in the manifests`);
  const isTaken = others.has(name) || (volume.spec.claimRef && !isReservedFor(volume, claim));
  if (isTaken) throw new Error(`volume "${name}" already bound to a different claim.`);
  const why = mismatch(volume, claim, classes);
  if (why !== undefined) throw new Error(`Cannot bind to requested volume "${name}": ${why}`);
  return { kind: 'manifest', volume };
}

function checkProvisionable({ metadata, spec }: PersistentVolumeClaim, wanted: string | undefined): void {
  if (wanted === '') {
    throw new Error('no persistent volumes available for this claim and no storage class is set');
  }
  const asks = `PersistentVolumeClaim "${metadata.name}" asks for`;
  const provides = 'a node without a cluster provides';
  if (wanted !== undefined && wanted !== LOCAL_CLASS) {
    throw new Error(
      `${asks} StorageClass "${wanted}", and ${provides} only "${LOCAL_CLASS}" and the PersistentVolumes of its manifests`,
    );
  }
  if (spec.volumeMode === 'Block') throw new Error(`${asks} volumeMode Block, and ${provides} only directories`);
  if (spec.selector) throw new Error('claim.Spec.Selector is not supported for dynamic provisioning on this node');
  if (spec.dataSource ?? spec.dataSourceRef) {
    throw new Error(`${asks} the content of a data source, and ${provides} only empty directories`);
  }
  if (spec.volumeAttributesClassName) {
    throw new Error(`${asks} VolumeAttributesClass "${spec.volumeAttributesClassName}", and ${provides} none`);
  }
}

/** The name of the PersistentVolume of a new directory, as provisioners name theirs. */
export function provisionedName(claimUid: string): string {
  return `pvc-${claimUid}`;
}
