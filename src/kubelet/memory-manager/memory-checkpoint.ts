import { byCodePoint } from '../../base/code-point-order.ts';
import { fnv1a32 } from '../../base/go/fnv.ts';
import { goJson } from '../../base/go/go-json.ts';
import { parseGoJson } from '../../base/go/parse-go-json.ts';
import { jsonArray, jsonInteger, jsonObject, jsonString } from '../../base/json-values.ts';
import type { AssignedMemory, MemoryState, MemoryTable, NumaNodeMemory } from './memory-state.ts';

export interface MemoryCheckpoint extends MemoryState {
  readonly policyName: string;
}

/** The name of the struct in the checksum that kubelet writes, and another that it accepts. */
const STRUCT_NAME = 'MemoryManagerCheckpoint';
const ACCEPTED_NAMES = [STRUCT_NAME, 'MemoryManagerCheckpointV1'];

/** The text of kubelet's `memory_manager_state`, byte for byte. */
export function encodeMemory(checkpoint: MemoryCheckpoint): string {
  const { policyName, machine, assignments } = checkpoint;
  const machineState = [...machine].map(([id, node]): Entry => [String(id), nodeText(node)]);
  const pods = [...assignments].map(([uid, containers]): Entry => {
    const each = [...containers].map(([name, blocks]): Entry => [name, `[${blocks.map(blockText).join(',')}]`]);
    return [uid, objectText(sorted(each))];
  });
  return objectText([
    ['policyName', goJson(policyName)],
    ['machineState', objectText(sorted(machineState))],
    ...(pods.length > 0 ? [['entries', objectText(sorted(pods))] as const] : []),
    ['checksum', String(checksumOf(checkpoint, STRUCT_NAME))],
  ]);
}

/** Throws for a text that kubelet rejects, with its message where that is not one of Go's JSON decoder. */
export function decodeMemory(text: string): MemoryCheckpoint {
  const { policyName = '', machineState, entries, checksum = 0 } = jsonObject(parseGoJson(text), 'checkpoint');
  const nodes = decodeMap(machineState, 'machineState', decodeNode);
  const checkpoint = {
    policyName: String(policyName),
    machine: new Map([...nodes].map(([id, node]) => [Number(id), node])),
    assignments: decodeMap(entries, 'entries', (containers, at) => decodeMap(containers, at, decodeBlocks)),
  };
  const isIntact = checksum === 0 || ACCEPTED_NAMES.some((name) => checksumOf(checkpoint, name) === checksum);
  if (!isIntact) throw new Error('checkpoint is corrupted');
  return checkpoint;
}

type Entry = readonly [key: string, text: string];

function nodeText({ numberOfAssignments, memoryMap, cells }: NumaNodeMemory): string {
  return objectText([
    ['numberOfAssignments', String(numberOfAssignments)],
    ['memoryMap', objectText(sorted([...memoryMap].map(([type, table]): Entry => [type, tableText(table)])))],
    ['cells', goJson(cells)],
  ]);
}

function tableText({ total, systemReserved, allocatable, reserved, free }: MemoryTable): string {
  return goJson({ total, systemReserved, allocatable, reserved, free });
}

function blockText({ numaAffinity, type, size }: AssignedMemory): string {
  return goJson({ numaAffinity, type, size });
}

function objectText(fields: readonly Entry[]): string {
  return `{${fields.map(([key, json]) => `${goJson(key)}:${json}`).join(',')}}`;
}

/** Go's order of map keys, in JSON and in prints. */
function sorted(entries: readonly Entry[]): readonly Entry[] {
  return [...entries].sort(([one], [other]) => byCodePoint(one, other));
}

/** The hash of Go's print of the struct. */
function checksumOf({ policyName, machine, assignments }: MemoryCheckpoint, struct: string): number {
  const nodes = [...machine].sort(([one], [other]) => one - other).map(([id, node]) => `${id}:${nodePrint(node)}`);
  const pods = [...assignments].map(([uid, containers]): Entry => {
    const each = [...containers].map(([name, blocks]): Entry => [name, `[${blocks.map(blockPrint).join(' ')}]`]);
    return [uid, mapPrint(each)];
  });
  const fields = [
    `PolicyName:(string)${policyName}`,
    `MachineState:(state.NUMANodeMap)map[${nodes.join(' ')}]`,
    `Entries:(state.ContainerMemoryAssignments)${mapPrint(pods)}`,
    'Checksum:(checksum.Checksum)0',
  ];
  return fnv1a32(`(*state.${struct}){${fields.join(' ')}}`);
}

function nodePrint({ numberOfAssignments, memoryMap, cells }: NumaNodeMemory): string {
  const tables = mapPrint([...memoryMap].map(([type, table]): Entry => [type, tablePrint(table)]));
  const map = `MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${tables}`;
  return `<*>{NumberOfAssignments:(int)${numberOfAssignments} ${map} Cells:([]int)[${cells.join(' ')}]}`;
}

function tablePrint({ total, systemReserved, allocatable, reserved, free }: MemoryTable): string {
  const fields = { TotalMemSize: total, SystemReserved: systemReserved, Allocatable: allocatable, Reserved: reserved };
  const texts = Object.entries({ ...fields, Free: free }).map(([name, value]) => `${name}:(uint64)${value}`);
  return `<*>{${texts.join(' ')}}`;
}

function blockPrint({ numaAffinity, type, size }: AssignedMemory): string {
  return `{NUMAAffinity:([]int)[${numaAffinity.join(' ')}] Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;
}

function mapPrint(entries: readonly Entry[]): string {
  return `map[${sorted(entries)
    .map(([key, value]) => `${key}:${value}`)
    .join(' ')}]`;
}

function decodeNode(value: unknown, at: string): NumaNodeMemory {
  const { numberOfAssignments, memoryMap, cells } = jsonObject(value, at);
  return {
    numberOfAssignments: jsonInteger(numberOfAssignments, `${at}.numberOfAssignments`),
    memoryMap: decodeMap(memoryMap, `${at}.memoryMap`, decodeTable),
    cells: integers(cells, `${at}.cells`),
  };
}

function decodeTable(value: unknown, at: string): MemoryTable {
  const fields = jsonObject(value, at);
  const size = (name: string): number => jsonInteger(fields[name] ?? 0, `${at}.${name}`);
  return {
    total: size('total'),
    systemReserved: size('systemReserved'),
    allocatable: size('allocatable'),
    reserved: size('reserved'),
    free: size('free'),
  };
}

function decodeBlocks(value: unknown, at: string): readonly AssignedMemory[] {
  return jsonArray(value, at).map((block) => {
    const { numaAffinity, type, size } = jsonObject(block, at);
    return {
      numaAffinity: integers(numaAffinity, `${at}.numaAffinity`),
      type: jsonString(type, `${at}.type`),
      size: jsonInteger(size, `${at}.size`),
    };
  });
}

function integers(value: unknown, at: string): readonly number[] {
  return jsonArray(value, at).map((each) => jsonInteger(each, at));
}

function decodeMap<T>(value: unknown, at: string, one: (inner: unknown, at: string) => T): ReadonlyMap<string, T> {
  const fields = value === undefined || value === null ? {} : jsonObject(value, at);
  return new Map(Object.entries(fields).map(([key, inner]) => [key, one(inner, `${at}[${key}]`)]));
}
