import { containersWithPath } from '../../api/containers-with-path.ts';
import type { Container, Pod, Volume } from '../../api/generated/core-v1.ts';

/** Names of objects in the pod's namespace, without duplicates. */
export interface ReferencedObjects {
  readonly configMaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
}

/** All ConfigMaps and Secrets that a pod's spec refers to, including optional ones. */
export function referencedObjects({ spec }: Pod): ReferencedObjects {
  const environments = containersWithPath(spec).map(({ container }) => referencedByEnv(container));
  const { imagePullSecrets = [], volumes = [] } = spec;
  return {
    configMaps: named([...environments.flatMap(({ configMaps }) => [...configMaps]), ...volumes.flatMap(configMapsOf)]),
    secrets: named([
      ...imagePullSecrets.map(({ name }) => name),
      ...environments.flatMap(({ secrets }) => [...secrets]),
      ...volumes.flatMap(secretsOf),
    ]),
  };
}

/** The references of one container's environment. */
export function referencedByEnv({ env = [], envFrom = [] }: Container): ReferencedObjects {
  return {
    configMaps: named([
      ...envFrom.map(({ configMapRef }) => configMapRef?.name),
      ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
    ]),
    secrets: named([
      ...envFrom.map(({ secretRef }) => secretRef?.name),
      ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ]),
  };
}

function named(names: readonly (string | undefined)[]): Set<string> {
  return new Set(names.flatMap((name) => name || []));
}

function configMapsOf({ configMap, projected }: Volume): (string | undefined)[] {
  return [configMap?.name, ...(projected?.sources ?? []).map((source) => source.configMap?.name)];
}

function secretsOf(volume: Volume): (string | undefined)[] {
  const { secret, projected, azureFile, cephfs, cinder, csi, flexVolume, iscsi, rbd, scaleIO, storageos } = volume;
  return [
    secret?.secretName,
    azureFile?.secretName,
    csi?.nodePublishSecretRef?.name,
    ...[cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos].map((source) => source?.secretRef?.name),
    ...(projected?.sources ?? []).map((source) => source.secret?.name),
  ];
}
