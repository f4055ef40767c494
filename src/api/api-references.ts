import { containersWithPath } from './containers-with-path.ts';
import type { Pod, PodSpec, Volume, VolumeProjection } from './generated/core-v1.ts';

/**
 * The first thing a pod refers to that only the API server has, as the kubelet names it when it refuses a static pod
 * (`static pods may not reference configmaps`); nothing when the pod stands by itself.
 */
export function apiReference({ spec }: Pod): string | undefined {
  if (spec.serviceAccountName) return 'serviceaccounts';
  if (usesSecrets(spec)) return 'secrets';
  if (usesConfigMaps(spec)) return 'configmaps';
  if ((spec.resourceClaims ?? []).length > 0) return 'resourceclaims';
  return spec.volumes?.map(referenceOfVolume).find((reference) => reference !== undefined);
}

function usesSecrets(spec: PodSpec): boolean {
  const { imagePullSecrets = [], volumes = [] } = spec;
  const inEnv = containersWithPath(spec).some(
    ({ container: { env = [], envFrom = [] } }) =>
      env.some(({ valueFrom }) => valueFrom?.secretKeyRef) || envFrom.some(({ secretRef }) => secretRef),
  );
  return imagePullSecrets.some(({ name }) => name) || inEnv || volumes.some(volumeUsesSecret);
}

function volumeUsesSecret(volume: Volume): boolean {
  const { secret, projected, azureFile, cephfs, flexVolume, rbd, scaleIO, iscsi, storageos, csi, cinder } = volume;
  const refs = [cephfs, flexVolume, rbd, scaleIO, iscsi, storageos, cinder].some((source) => source?.secretRef);
  const inProjection = projected?.sources?.some((source) => source.secret) ?? false;
  return secret !== undefined || azureFile !== undefined || refs || inProjection || Boolean(csi?.nodePublishSecretRef);
}

function usesConfigMaps(spec: PodSpec): boolean {
  const inEnv = containersWithPath(spec).some(
    ({ container: { env = [], envFrom = [] } }) =>
      env.some(({ valueFrom }) => valueFrom?.configMapKeyRef) || envFrom.some(({ configMapRef }) => configMapRef),
  );
  const inVolume = ({ configMap, projected }: Volume): boolean =>
    configMap !== undefined || (projected?.sources?.some((source) => source.configMap) ?? false);
  return inEnv || (spec.volumes ?? []).some(inVolume);
}

function referenceOfVolume(volume: Volume): string | undefined {
  if (volume.csi) return 'csidrivers (via CSI volumes)';
  if (volume.glusterfs) return 'endpoints (via glusterFS volumes)';
  if (volume.persistentVolumeClaim) return 'persistentvolumeclaims';
  if (volume.ephemeral) return 'persistentvolumeclaims (via ephemeral volumes)';
  return volume.projected?.sources?.map(referenceOfProjection).find((reference) => reference !== undefined);
}

function referenceOfProjection(source: VolumeProjection): string | undefined {
  if (source.serviceAccountToken) return 'serviceaccounts (via projected volumes)';
  if (source.clusterTrustBundle) return 'clustertrustbundles';
  return source.podCertificate ? 'podcertificates' : undefined;
}
