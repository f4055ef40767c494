import type { ConfigMap, FileKeySelector, Secret } from '../../../api/generated/core-v1.ts';

/** Objects and files that a container's variables reference, each with its lookup result. */
export interface EnvironmentSources {
  /** `KUBERNETES_SERVICE_HOST` and the like. */
  readonly services: ReadonlyMap<string, string>;
  /** By name, in the pod's namespace. */
  readonly configMaps: ReadonlyMap<string, ObjectLookup<ConfigMap>>;
  readonly secrets: ReadonlyMap<string, ObjectLookup<Secret>>;
  /** By `envFileId`. */
  readonly files: ReadonlyMap<string, EnvFile>;
}

export type ObjectLookup<T> =
  | { readonly kind: 'found'; readonly value: T }
  /** `message` is kubelet's. `isMissing`: not found, which is no error for optional references. */
  | { readonly kind: 'failed'; readonly message: string; readonly isMissing: boolean; readonly cause?: unknown };

/** The target of a `fileKeyRef`. */
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
