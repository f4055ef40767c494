import { constants } from 'node:os';
import { jsonArray, jsonObject, jsonString } from '../../base/json-values.ts';
import type { SeccompCondition, SeccompProfile, SeccompRule } from './spec-facts.ts';

/** Throws `Error` that describes the invalid field. */
export function parseSeccompProfile(text: string): SeccompProfile {
  const json = jsonObject(JSON.parse(text), 'profile');
  const archMap = jsonArray(json['archMap'], 'archMap').map((entry, index) => {
    const { architecture, subArchitectures } = jsonObject(entry, `archMap[${index}]`);
    return { architecture: jsonString(architecture, 'architecture'), subArchitectures: strings(subArchitectures) };
  });
  const architectures = strings(json['architectures']);
  if (architectures.length > 0 && archMap.length > 0) throw new Error('both architectures and archMap are set');
  const errno = parseErrno(json['defaultErrno'], json['defaultErrnoRet']);
  const flags = strings(json['flags']);
  return {
    defaultAction: jsonString(json['defaultAction'], 'defaultAction'),
    ...(errno !== undefined && { defaultErrnoRet: errno }),
    ...(architectures.length > 0 && { architectures }),
    ...(flags.length > 0 && { flags }),
    ...(typeof json['listenerPath'] === 'string' && { listenerPath: json['listenerPath'] }),
    ...(typeof json['listenerMetadata'] === 'string' && { listenerMetadata: json['listenerMetadata'] }),
    archMap,
    syscalls: jsonArray(json['syscalls'], 'syscalls').map((rule, index) => parseRule(rule, `syscalls[${index}]`)),
  };
}

function parseRule(value: unknown, field: string): SeccompRule {
  const rule = jsonObject(value, field);
  const names = [...strings(rule['names']), ...(typeof rule['name'] === 'string' ? [rule['name']] : [])];
  if (names.length === 0) throw new Error(`${field}: must name a system call`);
  const args = jsonArray(rule['args'], `${field}.args`).map((arg, index) =>
    parseArgument(arg, `${field}.args[${index}]`),
  );
  const errno = parseErrno(rule['errno'], rule['errnoRet']);
  return {
    names,
    action: jsonString(rule['action'], `${field}.action`),
    ...(errno !== undefined && { errnoRet: errno }),
    ...(args.length > 0 && { args }),
    includes: parseCondition(rule['includes'], `${field}.includes`),
    excludes: parseCondition(rule['excludes'], `${field}.excludes`),
  };
}

function parseArgument(value: unknown, field: string) {
  const { index, value: first, valueTwo, op } = jsonObject(value, field);
  if (typeof index !== 'number' || typeof first !== 'number')
    throw new Error(`${field}: index and value must be numbers`);
  const second = typeof valueTwo === 'number' ? { valueTwo } : {};
  return { index, value: first, ...second, op: jsonString(op, `${field}.op`) };
}

function parseCondition(value: unknown, field: string): SeccompCondition {
  const { arches, caps, minKernel } = jsonObject(value ?? {}, field);
  return { arches: strings(arches), caps: strings(caps), minKernel: typeof minKernel === 'string' ? minKernel : '' };
}

/** The name takes precedence over the number. */
function parseErrno(name: unknown, number: unknown): number | undefined {
  const named = typeof name === 'string' ? Object.entries(constants.errno).find(([key]) => key === name) : undefined;
  return named?.[1] ?? (typeof number === 'number' ? number : undefined);
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
