import { Buffer } from 'node:buffer';
import type { ConfigMap, KeyToPath, Secret } from '../../api/generated/core-v1.ts';
import { CausedError } from '../pod/pod-cause.ts';
import type { VolumeContent } from './volume-content.ts';

/** Selects the keys of an object and the files that they become. */
export interface KeySelection {
  /** Empty: every key becomes a file of that name. */
  readonly items?: readonly KeyToPath[] | undefined;
  /** Missing keys are skipped. */
  readonly optional?: boolean | undefined;
}

type DataOf = (key: string) => Uint8Array | undefined;

/** Throws kubelet's message for a missing key. */
export function configMapContent(configMap: ConfigMap, selection: KeySelection, defaultMode: number): VolumeContent {
  const { data = {}, binaryData = {} } = configMap;
  const dataOf: DataOf = (key) => {
    if (Object.hasOwn(data, key)) return Buffer.from(data[key] ?? '');
    return Object.hasOwn(binaryData, key) ? Buffer.from(binaryData[key] ?? '', 'base64') : undefined;
  };
  const keys = [...Object.keys(data), ...Object.keys(binaryData)];
  const object = { kind: 'configmap', name: configMap.metadata.name } as const;
  return selected(keys, dataOf, selection, defaultMode, object);
}

/** Throws kubelet's message for a missing key. */
export function secretContent(secret: Secret, selection: KeySelection, defaultMode: number): VolumeContent {
  const { data = {}, metadata } = secret;
  const dataOf: DataOf = (key) => (Object.hasOwn(data, key) ? Buffer.from(data[key] ?? '', 'base64') : undefined);
  const object = { kind: 'secret', name: metadata.name } as const;
  return selected(Object.keys(data), dataOf, selection, defaultMode, object);
}

/** kubelet's messages. */
const KEY_NOT_FOUND = {
  configmap: 'configmap references non-existent config key',
  secret: 'references non-existent secret key',
} as const;

function selected(
  keys: readonly string[],
  dataOf: DataOf,
  { items = [], optional = false }: KeySelection,
  defaultMode: number,
  object: { readonly kind: keyof typeof KEY_NOT_FOUND; readonly name: string },
): VolumeContent {
  const wanted: readonly KeyToPath[] = items.length > 0 ? items : keys.map((key) => ({ key, path: key }));
  const files = wanted.flatMap(({ key, path, mode = defaultMode }) => {
    const data = dataOf(key);
    if (data === undefined && !optional) {
      const podCause = { kind: 'keyNotFound', object: object.kind, name: object.name, key } as const;
      throw new CausedError(`${KEY_NOT_FOUND[object.kind]}: ${key}`, podCause);
    }
    return data === undefined ? [] : [[path, { data, mode }] as const];
  });
  return new Map(files);
}
