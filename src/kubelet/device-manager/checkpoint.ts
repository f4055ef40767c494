import { fnv1a32 } from '../../base/go/fnv.ts';
import { goJson } from '../../base/go/go-json.ts';
import { parseGoJson } from '../../base/go/parse-go-json.ts';

/** Device ids by NUMA node; -1 for devices without one. */
export type DevicesByNuma = ReadonlyMap<number, readonly string[]>;

/** The devices of one resource that a container has. */
export interface CheckpointEntry {
  readonly podUid: string;
  readonly containerName: string;
  readonly resourceName: string;
  readonly devices: DevicesByNuma;
  /** The encoded response of the plugin. */
  readonly response: Uint8Array;
}

export interface DeviceCheckpoint {
  readonly entries: readonly CheckpointEntry[];
  /** The ids of the healthy devices by resource. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

/** The text of kubelet's file `kubelet_internal_checkpoint`, byte for byte. */
export function encodeCheckpoint({ entries, registered }: DeviceCheckpoint): string {
  const data: RawData = {
    PodDeviceEntries: entries.length === 0 ? null : entries.map(rawEntry),
    RegisteredDevices: new Map(registered),
  };
  const parts = [`"PodDeviceEntries":${listJson(data.PodDeviceEntries, entryJson)}`];
  parts.push(`"RegisteredDevices":${mapJson(data.RegisteredDevices, goJson)}`);
  return `{"Data":{${parts.join(',')}},"Checksum":${checksum(data)}}`;
}

/** Throws for a file that kubelet does not accept either: what is not JSON, or has another checksum. */
export function decodeCheckpoint(text: string): DeviceCheckpoint {
  const file = fieldsOf(parseGoJson(text), 'checkpoint');
  const fields = fieldsOf(file['Data'], 'Data');
  const data: RawData = {
    PodDeviceEntries: listOf(absentIs(fields['PodDeviceEntries'], []), 'PodDeviceEntries', decodeEntry),
    RegisteredDevices: mapOf(absentIs(fields['RegisteredDevices'], {}), 'RegisteredDevices', decodeIds),
  };
  if (file['Checksum'] !== checksum(data)) throw new Error('checkpoint is corrupted');
  const ids = ([key, list]: readonly [string, readonly string[] | null]) => [key, list ?? []] as const;
  return {
    entries: (data.PodDeviceEntries ?? []).map((entry) => ({
      podUid: entry.PodUID,
      containerName: entry.ContainerName,
      resourceName: entry.ResourceName,
      devices: new Map([...(entry.DeviceIDs ?? [])].map(([node, list]) => [Number(node), list ?? []])),
      response: entry.AllocResp ?? new Uint8Array(),
    })),
    registered: new Map([...(data.RegisteredDevices ?? [])].map(ids)),
  };
}

/** The values of Go's structure. A nil slice or map is `null`: it has another checksum than an empty one. */
interface RawData {
  readonly PodDeviceEntries: readonly RawEntry[] | null;
  readonly RegisteredDevices: RawIds | null;
}

interface RawEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: RawIds | null;
  readonly AllocResp: Uint8Array | null;
}

type RawIds = ReadonlyMap<string, readonly string[] | null>;

function rawEntry({ podUid, containerName, resourceName, devices, response }: CheckpointEntry): RawEntry {
  return {
    PodUID: podUid,
    ContainerName: containerName,
    ResourceName: resourceName,
    DeviceIDs: new Map([...devices].map(([node, ids]) => [String(node), ids])),
    AllocResp: response,
  };
}

function entryJson({ PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp }: RawEntry): string {
  const names = goJson({ PodUID, ContainerName, ResourceName }).slice(1, -1);
  const response = AllocResp === null ? null : Buffer.from(AllocResp).toString('base64');
  return `{${names},"DeviceIDs":${mapJson(DeviceIDs, goJson)},"AllocResp":${goJson(response)}}`;
}

function listJson<T>(list: readonly T[] | null, json: (each: T) => string): string {
  return list === null ? 'null' : `[${list.map(json).join(',')}]`;
}

/** Go sorts keys as texts: `10` before `2`. */
function mapJson<T>(map: ReadonlyMap<string, T> | null, json: (each: T) => string): string {
  if (map === null) return 'null';
  const keys = [...map.keys()].toSorted(byText);
  return `{${keys.map((key) => `${goJson(key)}:${json(map.get(key) as T)}`).join(',')}}`; // a key of the map
}

/** The hash of Go's print of the data: the library `spew` with `%#v`. */
function checksum({ PodDeviceEntries, RegisteredDevices }: RawData): number {
  const entries = printList(PodDeviceEntries, printEntry);
  const registered = printMap(RegisteredDevices, byText);
  return fnv1a32(
    '(checkpoint.checkpointData){' +
      `PodDeviceEntries:([]checkpoint.PodDevicesEntry)${entries} RegisteredDevices:(map[string][]string)${registered}}`,
  );
}

function printEntry({ PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp }: RawEntry): string {
  const names = `PodUID:(string)${PodUID} ContainerName:(string)${ContainerName} ResourceName:(string)${ResourceName}`;
  const devices = printMap(DeviceIDs, (one, other) => Number(one) - Number(other));
  const response = AllocResp === null ? '<nil>' : `[${AllocResp.join(' ')}]`;
  return `{${names} DeviceIDs:(checkpoint.DevicesPerNUMA)${devices} AllocResp:([]uint8)${response}}`;
}

function printMap(map: RawIds | null, order: (one: string, other: string) => number): string {
  if (map === null) return '<nil>';
  const keys = [...map.keys()].toSorted(order);
  return `map[${keys.map((key) => `${key}:${printList(map.get(key) ?? null, (id) => id)}`).join(' ')}]`;
}

function printList<T>(list: readonly T[] | null, print: (each: T) => string): string {
  return list === null ? '<nil>' : `[${list.map(print).join(' ')}]`;
}

function byText(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function decodeEntry(value: unknown): RawEntry {
  const fields = fieldsOf(value, 'PodDeviceEntries');
  return {
    PodUID: textOf(fields['PodUID']),
    ContainerName: textOf(fields['ContainerName']),
    ResourceName: textOf(fields['ResourceName']),
    DeviceIDs: mapOf(fields['DeviceIDs'] ?? null, 'DeviceIDs', decodeIds, isWholeNumber),
    AllocResp: bytesOf(fields['AllocResp'] ?? null),
  };
}

function decodeIds(value: unknown): readonly string[] | null {
  return listOf(value, 'device ids', textOf);
}

/** What is absent keeps the value that kubelet sets before it reads; `null` does not. */
function absentIs(value: unknown, initial: unknown): unknown {
  return value === undefined ? initial : value;
}

function fieldsOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(`${what} is not a JSON object`);
  return { ...value };
}

function listOf<T>(value: unknown, what: string, one: (each: unknown) => T): readonly T[] | null {
  if (value === null) return null;
  if (!Array.isArray(value)) throw new Error(`${what} is not a list`);
  return value.map(one);
}

function mapOf<T>(
  value: unknown,
  what: string,
  one: (each: unknown) => T,
  isKey: (key: string) => boolean = () => true,
): ReadonlyMap<string, T> | null {
  if (value === null) return null;
  const entries = Object.entries(fieldsOf(value, what));
  for (const [key] of entries) if (!isKey(key)) throw new Error(`${what} has the key ${key}`);
  return new Map(entries.map(([key, each]) => [key, one(each)]));
}

function isWholeNumber(key: string): boolean {
  return /^-?(0|[1-9]\d{0,17})$/.test(key);
}

/** Go decodes `null` as an empty text. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new Error('not a string');
  return value;
}

function bytesOf(value: unknown): Uint8Array | null {
  return value === null ? null : new Uint8Array(Buffer.from(textOf(value), 'base64'));
}
