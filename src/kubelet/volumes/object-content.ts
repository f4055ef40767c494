import { Buffer } from 'node:buffer';
import type { ConfigMap, KeyToPath, Secret } from '../../api/generated/core-v1.ts';
import type { VolumeContent } from './volume-content.ts';

/** Which keys of an object become which files. */
export interface KeySelection {
  /** None: every key, as a file of that name. */
  readonly items?: readonly KeyToPath[] | undefined;
  /** Keys that are not there are left out. */
  readonly optional?: boolean | undefined;
}

type DataOf = (key: string) => Uint8Array | undefined;

/** Throws kubelet's message for a key that is not there. */
export function configMapContent(configMap: ConfigMap, selection: KeySelection, defaultMode: number): VolumeContent {
  const { data = {}, binaryData = {} } = configMap;
  const dataOf: DataOf = (key) => {
    if (Object.hasOwn(data, key)) return Buffer.from(data[key] ?? '');
    return Object.hasOwn(binaryData, key) ? Buffer.from(binaryData[key] ?? '', 'base64') : undefined;
  };
  const keys = [...Object.keys(data), ...Object.keys(binaryData)];
  const lack = 'configmap references non-existent config key';
  return selected(keys, dataOf, selection, defaultMode, lack);
}

/** Throws kubelet's message for a key that is not there. */
export function secretContent({ data = {} }: Secret, selection: KeySelection, defaultMode: number): VolumeContent {
  const dataOf: DataOf = (key) => (Object.hasOwn(data, key) ? Buffer.from(data[key] ?? '', 'base64') : undefined);
  return selected(Object.keys(data), dataOf, selection, defaultMode, 'references non-existent secret key');
}

function selected(
  keys: readonly string[],
  dataOf: DataOf,
  { items = [], optional = false }: KeySelection,
  defaultMode: number,
  lack: string,
): VolumeContent {
  const wanted: readonly KeyToPath[] = items.length > 0 ? items : keys.map((key) => ({ key, path: key }));
  const files = wanted.flatMap(({ key, path, mode = defaultMode }) => {
    const data = dataOf(key);
    if (data === undefined && !optional) throw new Error(`${lack}: ${key}`);
    return data === undefined ? [] : [[path, { data, mode }] as const];
  });
  return new Map(files);
}
