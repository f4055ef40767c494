import {
  MountPropagation,
  NamespaceMode,
  Protocol,
  SecurityProfile_ProfileType,
  SupplementalGroupsPolicy,
} from '../../../cri/generated/runtime-v1.ts';

/** Map fields: empty maps are omitted, empty messages are not. */
const MAPS = new Set(['annotations', 'labels', 'sysctls', 'unified']);

const ENUMS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  network: NamespaceMode,
  pid: NamespaceMode,
  ipc: NamespaceMode,
  mode: NamespaceMode,
  profileType: SecurityProfile_ProfileType,
  propagation: MountPropagation,
  protocol: Protocol,
  supplementalGroupsPolicy: SupplementalGroupsPolicy,
};

/** A CRI message in the format of the recordings: without zero values, 64-bit numbers as strings, enums by name. */
export function protoJson(message: unknown): unknown {
  if (message instanceof Uint8Array) return new TextDecoder().decode(message);
  if (typeof message === 'bigint') return String(message);
  if (Array.isArray(message)) return message.map(protoJson);
  if (typeof message !== 'object' || message === null) return message;
  const fields = Object.entries(message).filter(([name, value]) => !isZero(name, value));
  return Object.fromEntries(fields.map(([name, value]) => [name, enumName(name, value) ?? protoJson(value)]));
}

function isZero(name: string, value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value === 'object' && value !== null) return MAPS.has(name) && Object.keys(value).length === 0;
  return !value;
}

function enumName(field: string, value: unknown): string | undefined {
  return Object.entries(ENUMS[field] ?? {}).find(([, number]) => number === value)?.[0];
}
