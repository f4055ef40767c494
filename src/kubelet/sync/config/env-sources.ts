import type { ConfigMap, FileKeySelector, Secret } from '../../../api/generated/core-v1.ts';

/** What the variables of a container refer to, as far as it could be had: which of it matters is decided from it. */
export interface EnvironmentSources {
  /** `KUBERNETES_SERVICE_HOST` and the like. */
  readonly services: ReadonlyMap<string, string>;
  /** By name, all of the pod's own namespace. */
  readonly configMaps: ReadonlyMap<string, ObjectLookup<ConfigMap>>;
  readonly secrets: ReadonlyMap<string, ObjectLookup<Secret>>;
  /** By `envFileId`. */
  readonly files: ReadonlyMap<string, EnvFile>;
}

export type ObjectLookup<T> =
  | { readonly kind: 'found'; readonly value: T }
  /** The message is kubelet's own; what is missing may have been optional. */
  | { readonly kind: 'failed'; readonly message: string; readonly isMissing: boolean; readonly cause?: unknown };

/** What a `fileKeyRef` leads to. */
export type EnvFile =
  | { readonly kind: 'found'; readonly path: string; readonly bytes: Uint8Array }
  | { readonly kind: 'noVolume' }
  | { readonly kind: 'unreadable' };

export const NO_SOURCES: EnvironmentSources = {
  services: new Map(),
  configMaps: new Map(),
  secrets: new Map(),
  files: new Map(),
};

export function envFileId({ volumeName, path }: FileKeySelector): string {
  return `${volumeName}/${path}`;
}
