import { stringify } from 'yaml';
import { parseTime } from '../../base/rfc3339.ts';
import type { VolumeFormat } from '../options/volume-options.ts';
import { byteSize } from './byte-size.ts';
import { humanAge } from './human-age.ts';
import { textTable } from './text-table.ts';

const NONE = '<none>';

/** A volume as `nodelet volume` shows it. */
export interface ShownVolume {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** RFC 3339. */
  readonly created: string;
  readonly requested: string;
  readonly accessModes: readonly string[];
  /** The PersistentVolume of the manifests that the claim is bound to; absent: a folder of this node. */
  readonly persistentVolume?: string;
  readonly path?: string;
  /** Absent for the files of a PersistentVolume, which are not measured. */
  readonly used?: { readonly bytes: number; readonly inodes: number };
  /** Free space of the disk. */
  readonly availableBytes?: number;
  /** Names of pods in the namespace. */
  readonly usedBy: readonly string[];
  /** The name of the pod whose ephemeral volume it is. */
  readonly ephemeralOf?: string;
}

/** The output of `nodelet volume ls`. */
export function volumeList(volumes: readonly ShownVolume[], format: VolumeFormat, nowMs: number): string {
  if (format !== 'text') return objectText(volumes, format);
  if (volumes.length === 0) return '';
  const withNamespace = volumes.some(({ namespace }) => namespace !== 'default');
  const optional = (cell: string): readonly string[] => (withNamespace ? [cell] : []);
  return textTable([
    [...optional('NAMESPACE'), 'NAME', 'USED', 'REQUESTED', 'USED BY', 'AGE', 'PATH'],
    ...volumes.map((volume) => [
      ...optional(volume.namespace),
      volume.name,
      volume.used ? byteSize(volume.used.bytes) : NONE,
      volume.requested,
      namesText(volume.usedBy),
      humanAge(nowMs - parseTime(volume.created)),
      volume.path ?? NONE,
    ]),
  ]);
}

/** The output of `nodelet volume inspect`. */
export function volumeDetails(volume: ShownVolume, format: VolumeFormat, nowMs: number): string {
  if (format !== 'text') return objectText(volume, format);
  const { used, availableBytes, persistentVolume, ephemeralOf, path } = volume;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Name', volume.name],
    ['Namespace', volume.namespace],
    ['Created', `${volume.created} (${humanAge(nowMs - parseTime(volume.created))} ago)`],
    ['Requested', persistentVolume === undefined ? `${volume.requested} (not enforced)` : volume.requested],
    ['Used', used && `${byteSize(used.bytes)} in ${used.inodes} files and folders`],
    ['Free', availableBytes === undefined ? undefined : `${byteSize(availableBytes)} on its disk`],
    ['Access modes', volume.accessModes.join(', ')],
    ['Volume', persistentVolume === undefined ? 'a folder of this node' : `PersistentVolume ${persistentVolume}`],
    ['Path', path],
    ['Used by', namesText(volume.usedBy)],
    ['Removed with', ephemeralOf && `pod ${ephemeralOf}`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  const shown = rows.flatMap(([name, text]) => (text === undefined ? [] : [`${`${name}:`.padEnd(width)}${text}\n`]));
  return shown.join('');
}

function objectText(value: unknown, format: Exclude<VolumeFormat, 'text'>): string {
  if (format === 'json') return `${JSON.stringify(value, undefined, 2)}\n`;
  return stringify(value, { aliasDuplicateObjects: false });
}

function namesText(names: readonly string[]): string {
  return names.length === 0 ? NONE : names.join(',');
}
