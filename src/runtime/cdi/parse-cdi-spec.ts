import { jsonArray, jsonInteger, jsonObject, jsonString } from '../../base/json-values.ts';
import type { OciHooks } from '../oci/oci-spec.ts';
import { type CdiDeviceNode, type CdiEdits, type CdiHook, type CdiMount, type CdiSpec, NO_EDITS } from './cdi-spec.ts';

const VERSIONS: ReadonlySet<string> = new Set(['0.3.0', '0.4.0', '0.5.0', '0.6.0', '0.7.0', '0.8.0', '1.0.0', '1.1.0']);
const VENDOR = /^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?$/;
const CLASS = /^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?$/;
const DEVICE = /^[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$/;
const HOOKS: ReadonlySet<string> = new Set<keyof OciHooks>([
  'prestart',
  'createRuntime',
  'createContainer',
  'startContainer',
  'poststart',
  'poststop',
]);
const EDIT_FIELDS = new Set(['env', 'deviceNodes', 'mounts', 'hooks', 'intelRdt', 'additionalGids']);

/** Throws an `Error` for an invalid specification. Unknown edits are errors: a partly injected device would not work. */
export function parseCdiSpec(value: unknown): CdiSpec {
  const spec = jsonObject(value, 'specification');
  const version = jsonString(spec['cdiVersion'], 'cdiVersion');
  if (!VERSIONS.has(version.replace(/^v/, ''))) throw new Error(`unknown cdiVersion ${JSON.stringify(version)}`);
  const kind = jsonString(spec['kind'], 'kind');
  const [vendor = '', deviceClass = '', ...rest] = kind.split('/');
  if (!VENDOR.test(vendor) || !CLASS.test(deviceClass) || rest.length > 0) {
    throw new Error(`kind ${JSON.stringify(kind)} is not of the form vendor/class`);
  }
  const devices = new Map<string, CdiEdits>();
  for (const [index, item] of jsonArray(spec['devices'], 'devices').entries()) {
    const device = jsonObject(item, `devices[${index}]`);
    const name = jsonString(device['name'], `devices[${index}].name`);
    if (!DEVICE.test(name)) throw new Error(`devices[${index}].name: invalid name ${JSON.stringify(name)}`);
    if (devices.has(name)) throw new Error(`devices[${index}].name: duplicate name ${JSON.stringify(name)}`);
    devices.set(name, parseEdits(device['containerEdits'], `devices[${index}].containerEdits`));
  }
  if (devices.size === 0) throw new Error('devices: must not be empty');
  return { kind, devices, edits: parseEdits(spec['containerEdits'], 'containerEdits') };
}

function parseEdits(value: unknown, field: string): CdiEdits {
  if (value === undefined || value === null) return NO_EDITS;
  const edits = jsonObject(value, field);
  const unknown = Object.keys(edits).find((key) => !EDIT_FIELDS.has(key));
  if (unknown !== undefined) throw new Error(`${field}.${unknown}: not supported`);
  const each = <T>(key: string, read: (item: unknown, field: string) => T): T[] =>
    jsonArray(edits[key], `${field}.${key}`).map((item, index) => read(item, `${field}.${key}[${index}]`));
  const { intelRdt } = edits;
  return {
    env: each('env', parseVariable),
    deviceNodes: each('deviceNodes', parseDeviceNode),
    mounts: each('mounts', parseMount),
    hooks: each('hooks', parseHook),
    additionalGids: each('additionalGids', jsonInteger).filter((gid) => gid !== 0),
    ...(intelRdt ? { intelRdt: jsonObject(intelRdt, `${field}.intelRdt`) } : {}),
  };
}

function parseDeviceNode(item: unknown, field: string): CdiDeviceNode {
  const node = jsonObject(item, field);
  const path = jsonString(node['path'], `${field}.path`);
  const { type, permissions = '' } = node;
  if (type !== undefined && type !== '' && type !== 'c' && type !== 'b' && type !== 'u' && type !== 'p') {
    throw new Error(`${field}.type: invalid type ${JSON.stringify(type)}`);
  }
  if (typeof permissions !== 'string' || !/^[rwm]*$/.test(permissions))
    throw new Error(`${field}.permissions: invalid`);
  const numbers: Partial<Record<'major' | 'minor' | 'fileMode' | 'uid' | 'gid', number>> = {};
  for (const key of ['major', 'minor', 'fileMode', 'uid', 'gid'] as const) {
    if (node[key] !== undefined) numbers[key] = jsonInteger(node[key], `${field}.${key}`);
  }
  const hostPath = typeof node['hostPath'] === 'string' && node['hostPath'] !== '' ? node['hostPath'] : path;
  return { path, hostPath, ...(type ? { type } : {}), ...numbers, permissions: permissions || 'rwm' };
}

function parseMount(item: unknown, field: string): CdiMount {
  const mount = jsonObject(item, field);
  return {
    hostPath: jsonString(mount['hostPath'], `${field}.hostPath`),
    containerPath: jsonString(mount['containerPath'], `${field}.containerPath`),
    type: typeof mount['type'] === 'string' ? mount['type'] : '',
    options: jsonArray(mount['options'], `${field}.options`).map((option) => jsonString(option, `${field}.options`)),
  };
}

function parseHook(item: unknown, field: string): CdiHook {
  const hook = jsonObject(item, field);
  const hookName = jsonString(hook['hookName'], `${field}.hookName`);
  if (!isHookName(hookName)) throw new Error(`${field}.hookName: unknown hook ${JSON.stringify(hookName)}`);
  return {
    hookName,
    path: jsonString(hook['path'], `${field}.path`),
    args: jsonArray(hook['args'], `${field}.args`).map((arg) => jsonString(arg, `${field}.args`)),
    env: jsonArray(hook['env'], `${field}.env`).map((entry) => parseVariable(entry, `${field}.env`)),
    ...(hook['timeout'] === undefined ? {} : { timeout: jsonInteger(hook['timeout'], `${field}.timeout`) }),
  };
}

function isHookName(name: string): name is keyof OciHooks {
  return HOOKS.has(name);
}

function parseVariable(value: unknown, field: string): string {
  const text = jsonString(value, field);
  if (text.indexOf('=') <= 0) throw new Error(`${field}: ${JSON.stringify(text)} is not of the form name=value`);
  return text;
}
