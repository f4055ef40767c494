import { posix } from 'node:path';
import type {
  CSIPersistentVolumeSource,
  LocalVolumeSource,
  PersistentVolume,
  PersistentVolumeSpec,
  Volume,
} from '../generated/core-v1.ts';
import { type FieldErrors, forbidden, notSupported, oneOf, required } from './field-error.ts';
import { positive, validateAccessModes, validateClassName, validateVolumeMode } from './validate-claim.ts';
import { validateObjectMeta } from './validate-metadata.ts';
import { noBacksteps } from './validate-paths.ts';
import { validateCsiDriver, validateVolumeSource } from './validate-volumes.ts';

const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain'];

/** In the order in which the API server looks for them: the first one is the volume, any other one too many. */
const SOURCES = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
] as const satisfies readonly (keyof PersistentVolumeSpec)[];

/**
 * Everything that the API server would refuse a new PersistentVolume for, except for the terms of its node affinity and
 * the references to secrets of sources.
 */
export function* validatePersistentVolume({ metadata, spec }: PersistentVolume): FieldErrors {
  yield* validateObjectMeta(metadata, 'cluster');
  const { accessModes = [], persistentVolumeReclaimPolicy: policy, volumeAttributesClassName: attributes } = spec;
  if (accessModes.length === 0) yield required('spec.accessModes');
  yield* validateAccessModes('spec.accessModes', accessModes);
  yield* validateCapacity('spec.capacity', spec.capacity ?? {});
  if (policy) yield* oneOf('spec.persistentVolumeReclaimPolicy', policy, RECLAIM_POLICIES);
  yield* validateSources(spec);
  if (spec.hostPath && posix.normalize(spec.hostPath.path) === '/' && policy === 'Recycle') {
    yield forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'");
  }
  yield* validateClassName('spec.storageClassName', spec.storageClassName);
  yield* validateVolumeMode('spec.volumeMode', spec.volumeMode);
  if (attributes === undefined) return;
  if (attributes === '') yield required('spec.volumeAttributesClassName', 'an empty string is disallowed');
  else yield* validateClassName('spec.volumeAttributesClassName', attributes);
  if (!spec.csi) yield required('spec.csi', 'has to be specified when using volumeAttributesClassName');
}

function* validateCapacity(path: string, capacity: NonNullable<PersistentVolumeSpec['capacity']>): FieldErrors {
  const names = Object.keys(capacity);
  if (names.length === 0) yield required(path);
  if (names.length !== 1 || names[0] !== 'storage') yield notSupported(path, names.join(','), ['storage']);
  for (const [name, quantity] of Object.entries(capacity)) yield* positive(`${path}[${name}]`, quantity);
}

function* validateSources(spec: PersistentVolumeSpec): FieldErrors {
  const [first, ...others] = SOURCES.filter((source) => spec[source] !== undefined);
  if (!first) yield required('spec', 'must specify a volume type');
  else yield* validateSource(first, spec);
  for (const source of others) yield forbidden(`spec.${source}`, 'may not specify more than 1 volume type');
}

function* validateSource(source: (typeof SOURCES)[number], spec: PersistentVolumeSpec): FieldErrors {
  const path = `spec.${source}`;
  if (source === 'local') {
    yield* validateLocal(path, spec.local ?? { path: '' });
    if (!spec.nodeAffinity?.required) yield required('spec.nodeAffinity', 'Local volume requires node affinity');
  } else if (source === 'csi') {
    if (spec.csi) yield* validateCsi(path, spec.csi);
  } else {
    // Its other sources have the fields that the API server requires of the volumes of pods too.
    const volume: Volume = { name: '', ...(spec as Omit<Volume, 'name'>) };
    yield* validateVolumeSource(source, path, volume);
  }
}

function* validateLocal(path: string, { path: folder }: LocalVolumeSource): FieldErrors {
  if (folder === '') yield required(`${path}.path`);
  else yield* noBacksteps(`${path}.path`, folder);
}

function* validateCsi(path: string, csi: CSIPersistentVolumeSource): FieldErrors {
  yield* validateCsiDriver(`${path}.driver`, csi);
  if (csi.volumeHandle === '') yield required(`${path}.volumeHandle`);
}
