import type { CSIPersistentVolumeSource, PersistentVolume } from '../../../api/generated/core-v1.ts';
import { ebsVolumeId, gceVolumeHandle, storageAccountOf } from './volume-handles.ts';
import { withCsiTopology } from './volume-topology.ts';

/**
 * Persistent volumes of the types that kubelet migrated to CSI drivers, as the drivers know them. A cluster that was created
 * before the migration still has such volumes; the controllers and the scheduler translate them in the same way, so that the
 * names and topologies must be exactly these.
 */
interface Migration {
  /** The CSI source, or an error with kubelet's text. */
  readonly source: (volume: PersistentVolume) => CSIPersistentVolumeSource;
  /** The driver's name of a zone; absent: the node affinity stays as it is. */
  readonly zoneKey?: string;
  /** The driver's name of a region; absent: it uses that of Kubernetes. */
  readonly regionKey?: string;
  readonly accessModes?: (modes: readonly string[]) => readonly string[];
}

const MIGRATED_TYPES = [
  'awsElasticBlockStore',
  'azureDisk',
  'azureFile',
  'cinder',
  'gcePersistentDisk',
  'portworxVolume',
  'vsphereVolume',
] as const;

type MigratedType = (typeof MIGRATED_TYPES)[number];

const MIGRATIONS: Readonly<Record<MigratedType, Migration>> = {
  awsElasticBlockStore: { source: ebsSource, zoneKey: 'topology.ebs.csi.aws.com/zone' },
  azureDisk: { source: azureDiskSource },
  azureFile: { source: azureFileSource },
  cinder: { source: cinderSource, zoneKey: 'topology.cinder.csi.openstack.org/zone' },
  gcePersistentDisk: { source: gceSource, zoneKey: 'topology.gke.io/zone', accessModes: gceAccessModes },
  portworxVolume: { source: portworxSource },
  vsphereVolume: {
    source: vsphereSource,
    zoneKey: 'topology.csi.vmware.com/zone',
    regionKey: 'topology.csi.vmware.com/region',
  },
};

/**
 * The volume as its CSI driver knows it; the same object if it is of no migrated type. Throws kubelet's error for a volume that
 * cannot be translated.
 */
export function migrateToCsi(volume: PersistentVolume): PersistentVolume {
  const type = MIGRATED_TYPES.find((each) => volume.spec[each] !== undefined);
  if (!type) return volume;
  const { source, zoneKey, regionKey, accessModes } = MIGRATIONS[type];
  const csi = source(volume);
  const { [type]: _, ...rest } = volume.spec;
  const modes = accessModes && rest.accessModes ? { accessModes: accessModes(rest.accessModes) } : {};
  const spec = { ...rest, ...modes, csi };
  return { ...volume, spec: zoneKey ? withCsiTopology(volume, spec, { zoneKey, regionKey }) : spec };
}

function ebsSource({ spec: { awsElasticBlockStore: disk } }: PersistentVolume): CSIPersistentVolumeSource {
  return {
    driver: 'ebs.csi.aws.com',
    volumeHandle: ebsVolumeId(disk?.volumeID ?? ''),
    readOnly: disk?.readOnly,
    fsType: disk?.fsType,
    volumeAttributes: { partition: String(disk?.partition ?? 0) },
  };
}

function azureDiskSource({ spec: { azureDisk: disk } }: PersistentVolume): CSIPersistentVolumeSource {
  const { kind, cachingMode, fsType, readOnly, diskURI = '' } = disk ?? {};
  if (kind !== undefined && kind.toLowerCase() !== 'managed') {
    throw new Error(`kind(${kind}) is not supported in csi migration`);
  }
  return {
    driver: 'disk.csi.azure.com',
    volumeHandle: diskURI,
    readOnly,
    fsType,
    volumeAttributes: {
      kind: 'Managed',
      ...(cachingMode !== undefined && { cachingmode: cachingMode }),
      ...(fsType !== undefined && { fstype: fsType }),
    },
  };
}

function azureFileSource({
  metadata,
  spec: { azureFile: share, claimRef },
}: PersistentVolume): CSIPersistentVolumeSource {
  const { secretName = '', shareName = '', readOnly } = share ?? {};
  const namespace = share?.secretNamespace ?? claimRef?.namespace ?? '';
  if (namespace === '') throw new Error('could not find a secret namespace in PersistentVolumeSource or ClaimRef');
  const resourceGroup = metadata.annotations?.['kubernetes.io/azure-file-resource-group'] ?? '';
  return {
    driver: 'file.csi.azure.com',
    volumeHandle: [resourceGroup, storageAccountOf(secretName), shareName, metadata.name, namespace].join('#'),
    readOnly,
    volumeAttributes: { sharename: shareName },
    nodeStageSecretRef: { name: secretName, namespace },
  };
}

function cinderSource({ spec: { cinder: disk } }: PersistentVolume): CSIPersistentVolumeSource {
  return {
    driver: 'cinder.csi.openstack.org',
    volumeHandle: disk?.volumeID ?? '',
    readOnly: disk?.readOnly,
    fsType: disk?.fsType,
  };
}

function gceSource(volume: PersistentVolume): CSIPersistentVolumeSource {
  const { pdName = '', partition = 0, readOnly, fsType } = volume.spec.gcePersistentDisk ?? {};
  return {
    driver: 'pd.csi.storage.gke.io',
    volumeHandle: gceVolumeHandle(pdName, volume.metadata.labels),
    readOnly,
    fsType,
    volumeAttributes: { partition: partition === 0 ? '' : String(partition) },
  };
}

/** The old type did not enforce access modes, and attached every disk that is written to one node only. */
function gceAccessModes(modes: readonly string[]): readonly string[] {
  return modes.length > 0 && modes.every((mode) => mode === 'ReadOnlyMany') ? ['ReadOnlyMany'] : ['ReadWriteOnce'];
}

function portworxSource({ metadata, spec: { portworxVolume: disk } }: PersistentVolume): CSIPersistentVolumeSource {
  const { ['openstorage.io/auth-secret-name']: name, ['openstorage.io/auth-secret-namespace']: namespace } =
    metadata.annotations ?? {};
  const secret = name === undefined || namespace === undefined ? undefined : { name, namespace };
  return {
    driver: 'pxd.portworx.com',
    volumeHandle: disk?.volumeID ?? '',
    fsType: disk?.fsType,
    ...(secret && {
      controllerPublishSecretRef: secret,
      nodeStageSecretRef: secret,
      nodePublishSecretRef: secret,
      controllerExpandSecretRef: secret,
      nodeExpandSecretRef: secret,
    }),
  };
}

function vsphereSource({ spec: { vsphereVolume: disk } }: PersistentVolume): CSIPersistentVolumeSource {
  const { volumePath = '', fsType, storagePolicyName } = disk ?? {};
  return {
    driver: 'csi.vsphere.vmware.com',
    volumeHandle: volumePath,
    fsType,
    ...(storagePolicyName && { volumeAttributes: { storagepolicyname: storagePolicyName } }),
  };
}
