import { crc32 } from 'node:zlib';
import { goJson } from '../../base/go/go-json.ts';
import { parseGoJson } from '../../base/go/parse-go-json.ts';
import type { ClaimDevice, ClaimInfo } from './claim-info.ts';

const KIND = 'DRACheckpoint';
const API_VERSION = 'checkpoint.dra.kubelet.k8s.io/v1';

/** The text of kubelet's `dra_manager_state`, byte for byte: JSON within JSON, with the CRC of the inner text. */
export function encodeClaims(claims: readonly ClaimInfo[]): string {
  const data = goJson({ kind: KIND, apiVersion: API_VERSION, ClaimInfoStateList: claims.map(claimState) });
  return goJson({ Data: data, Checksum: crc32(data) });
}

/** Throws kubelet's message for a file that kubelet rejects too. Unknown fields are ignored. */
export function decodeClaims(text: string): readonly ClaimInfo[] {
  // Files before v1.31 have another format, and their checksum under a name that Go takes for the same.
  const { Data: data = '', checksum: old = 0, Checksum: checksum = old } = fieldsOf(parseGoJson(text));
  if (typeof data !== 'string') throw new Error('Data is not a string');
  if (checksum !== crc32(data)) throw new Error('checkpoint is corrupted');
  return listOf(fieldsOf(parseGoJson(data))['ClaimInfoStateList']).map(decodeClaim);
}

function claimState({ uid, name, namespace, podUids, devices }: ClaimInfo): object {
  return {
    ClaimUID: uid,
    ClaimName: name,
    Namespace: namespace,
    PodUIDs: sortedMap([...podUids].map((each) => [each, {}])),
    DriverState: sortedMap([...devices].map(([driver, each]) => [driver, { Devices: orNull(each.map(deviceState)) }])),
  };
}

function deviceState({ poolName, deviceName, shareId, requestNames, cdiDeviceIds }: ClaimDevice): object {
  return {
    PoolName: poolName,
    DeviceName: deviceName,
    ShareID: shareId ?? null,
    RequestNames: orNull(requestNames),
    CDIDeviceIDs: orNull(cdiDeviceIds),
  };
}

/** Go writes a list that nothing was added to as null. */
function orNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length > 0 ? list : null;
}

/** Go's order of map keys. JSON writes keys that are numbers first, which names of drivers and UIDs are not. */
function sortedMap(entries: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries([...entries].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function decodeClaim(value: unknown): ClaimInfo {
  const { ClaimUID, ClaimName, Namespace, PodUIDs, DriverState } = fieldsOf(value);
  const drivers = Object.entries(fieldsOf(DriverState)).map(
    ([driver, state]) => [driver, listOf(fieldsOf(state)['Devices']).map(decodeDevice)] as const,
  );
  return {
    uid: textOf(ClaimUID),
    name: textOf(ClaimName),
    namespace: textOf(Namespace),
    podUids: new Set(Object.keys(fieldsOf(PodUIDs))),
    devices: new Map(drivers),
  };
}

function decodeDevice(value: unknown): ClaimDevice {
  const { PoolName, DeviceName, ShareID, RequestNames, CDIDeviceIDs } = fieldsOf(value);
  return {
    poolName: textOf(PoolName),
    deviceName: textOf(DeviceName),
    ...(typeof ShareID === 'string' && { shareId: ShareID }),
    requestNames: listOf(RequestNames).map(textOf),
    cdiDeviceIds: listOf(CDIDeviceIDs).map(textOf),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Go decodes null and absent values as empty. */
export function fieldsOf(value: unknown): Fields {
  if (value === undefined || value === null) return {};
  if (!isFields(value)) throw new Error('not a JSON object');
  return value;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error('not a JSON array');
  return value;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new Error('not a JSON string');
  return value;
}
