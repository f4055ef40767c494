import { parseQuantity } from '../../base/quantity.ts';
import type {
  AzureDiskVolumeSource,
  DownwardAPIVolumeFile,
  EphemeralVolumeSource,
  ProjectedVolumeSource,
  RBDVolumeSource,
  Volume,
  VolumeProjection,
} from '../generated/core-v1.ts';
import { defaultPullPolicy, defaultReferences } from './default-container.ts';
import { milliRequirements } from './default-resources.ts';

const DEFAULT_MODE = 0o644;
const TOKEN_SECONDS = 3600;

/** A volume that names no source is an empty directory. */
export function defaultVolume(volume: Volume): Volume {
  const {
    name,
    emptyDir,
    hostPath,
    secret,
    configMap,
    downwardAPI,
    projected,
    image,
    iscsi,
    rbd,
    azureDisk,
    scaleIO,
    ephemeral,
  } = volume;
  if (!hasSource(volume)) return { name, emptyDir: {} };
  return {
    ...volume,
    ...(emptyDir?.sizeLimit !== undefined && {
      emptyDir: { ...emptyDir, sizeLimit: parseQuantity(emptyDir.sizeLimit).toString() },
    }),
    ...(hostPath && { hostPath: { ...hostPath, type: hostPath.type ?? '' } }),
    ...(secret && { secret: { ...secret, defaultMode: secret.defaultMode ?? DEFAULT_MODE } }),
    ...(configMap && { configMap: { ...configMap, defaultMode: configMap.defaultMode ?? DEFAULT_MODE } }),
    ...(downwardAPI && {
      downwardAPI: {
        ...downwardAPI,
        defaultMode: downwardAPI.defaultMode ?? DEFAULT_MODE,
        ...files(downwardAPI.items),
      },
    }),
    ...(projected && { projected: defaultProjected(projected) }),
    ...(image && { image: { ...image, pullPolicy: image.pullPolicy || defaultPullPolicy(image.reference) } }),
    ...(iscsi && { iscsi: { ...iscsi, iscsiInterface: iscsi.iscsiInterface || 'default' } }),
    ...(rbd && { rbd: defaultRbd(rbd) }),
    ...(azureDisk && { azureDisk: defaultAzureDisk(azureDisk) }),
    ...(scaleIO && {
      scaleIO: { ...scaleIO, storageMode: scaleIO.storageMode || 'ThinProvisioned', fsType: scaleIO.fsType || 'xfs' },
    }),
    ...(ephemeral && { ephemeral: defaultEphemeral(ephemeral) }),
  };
}

function hasSource({ name: _, ...sources }: Volume): boolean {
  return Object.values(sources).some((source) => source !== undefined);
}

function defaultProjected(projected: ProjectedVolumeSource): ProjectedVolumeSource {
  const { sources } = projected;
  return {
    ...projected,
    defaultMode: projected.defaultMode ?? DEFAULT_MODE,
    ...(sources && { sources: sources.map(defaultProjection) }),
  };
}

function defaultProjection(source: VolumeProjection): VolumeProjection {
  const { downwardAPI, serviceAccountToken } = source;
  return {
    ...source,
    ...(downwardAPI && { downwardAPI: { ...downwardAPI, ...files(downwardAPI.items) } }),
    ...(serviceAccountToken && {
      serviceAccountToken: {
        ...serviceAccountToken,
        expirationSeconds: serviceAccountToken.expirationSeconds ?? TOKEN_SECONDS,
      },
    }),
  };
}

function files(items: readonly DownwardAPIVolumeFile[] | undefined): { items?: readonly DownwardAPIVolumeFile[] } {
  if (!items) return {};
  return { items: items.map((item) => ({ ...item, ...defaultReferences(item) })) };
}

function defaultRbd(rbd: RBDVolumeSource): RBDVolumeSource {
  return {
    ...rbd,
    pool: rbd.pool || 'rbd',
    user: rbd.user || 'admin',
    keyring: rbd.keyring || '/etc/ceph/keyring',
  };
}

function defaultAzureDisk(disk: AzureDiskVolumeSource): AzureDiskVolumeSource {
  return {
    ...disk,
    cachingMode: disk.cachingMode ?? 'ReadWrite',
    fsType: disk.fsType ?? 'ext4',
    readOnly: disk.readOnly ?? false,
    kind: disk.kind ?? 'Shared',
  };
}

function defaultEphemeral(ephemeral: EphemeralVolumeSource): EphemeralVolumeSource {
  const template = ephemeral.volumeClaimTemplate;
  if (!template) return ephemeral;
  const { resources } = template.spec;
  return {
    ...ephemeral,
    volumeClaimTemplate: {
      ...template,
      spec: {
        ...template.spec,
        volumeMode: template.spec.volumeMode ?? 'Filesystem',
        ...(resources && { resources: milliRequirements(resources) }),
      },
    },
  };
}
