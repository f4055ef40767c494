import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity } from '../../base/quantity.ts';
import { machineMemory, stateError } from './machine-memory.ts';
import { EMPTY_STATE, type MemoryState, takeMemory, withBlocks } from './memory-state.ts';
import { reservedBytes } from './reserved-memory.ts';

const GIB = 2 ** 30;
const numaNodes = [0, 1].map((id) => ({
  id,
  memoryBytes: 4 * GIB,
  hugePages: new Map([
    [2048, 256],
    [1048576, 1],
  ]),
  distances: [],
}));
const MACHINE = machineMemory({ numaNodes }, new Map([[0, new Map([['memory', GIB]])]]));

test('machineMemory() keeps reserved memory and huge pages from containers', () => {
  assert.deepEqual(
    [...(MACHINE.get(0)?.memoryMap ?? [])].map(([type, { total, systemReserved, free }]) => [
      type,
      total,
      systemReserved,
      free,
    ]),
    [
      ['hugepages-2Mi', GIB / 2, 0, GIB / 2],
      ['hugepages-1Gi', GIB, 0, GIB],
      ['memory', 4 * GIB, GIB, 1.5 * GIB],
    ],
  );
  assert.equal(MACHINE.get(1)?.memoryMap.get('memory')?.free, 2.5 * GIB);
});

test('nothing is allocatable on a node that reserves more than it has', () => {
  const machine = machineMemory({ numaNodes }, new Map([[0, new Map([['memory', 5 * GIB]])]]));
  assert.equal(machine.get(0)?.memoryMap.get('memory')?.allocatable, 0);
});

function stateWith(numaAffinity: readonly number[], type = 'memory', size = GIB): MemoryState {
  const block = { numaAffinity, type, size };
  return withBlocks({ machine: takeMemory(MACHINE, block), assignments: new Map() }, 'uid', 'main', [block]);
}

const cases: Record<string, { state: MemoryState; expected: string | undefined }> = {
  'an empty state': { state: EMPTY_STATE, expected: undefined },
  'a machine without assignments': { state: { machine: MACHINE, assignments: new Map() }, expected: undefined },
  'memory of two nodes': { state: stateWith([0, 1], 'memory', 3 * GIB), expected: undefined },
  'assignments without a machine': {
    state: { ...stateWith([0]), machine: new Map() },
    expected: '[memorymanager] machine state can not be empty when it has memory assignments',
  },
  'a node that does not exist': {
    state: stateWith([7]),
    expected: '[memorymanager] (pod: uid, container: main) the memory assignment uses the NUMA that does not exist',
  },
  'huge pages that do not exist': {
    state: stateWith([0], 'hugepages-64Ki'),
    expected:
      '[memorymanager] (pod: uid, container: main) the memory assignment uses memory resource that does not exist',
  },
  'an assignment that is not in the machine': {
    state: { ...stateWith([0]), machine: MACHINE },
    expected: '[memorymanager] the expected machine state is different from the real one',
  },
  'a machine with one node less': {
    state: { machine: new Map([...MACHINE].slice(1)), assignments: new Map() },
    expected: '[memorymanager] the expected machine state is different from the real one',
  },
  'other reserved memory': {
    state: { machine: machineMemory({ numaNodes }, new Map()), assignments: new Map() },
    expected: '[memorymanager] the expected machine state is different from the real one',
  },
};

for (const [name, { state, expected }] of Object.entries(cases)) {
  test(`stateError() of ${name}`, () => assert.equal(stateError(state, MACHINE), expected));
}

interface ReservedCase {
  readonly reserved: readonly { readonly numaNode: number; readonly limits: Readonly<Record<string, string>> }[];
  readonly kept: Readonly<Record<string, string>>;
  readonly message: string;
}

const wrong: Record<string, ReservedCase> = {
  'a sum that is not what the node keeps': {
    reserved: [
      { numaNode: 0, limits: { memory: '1Gi' } },
      { numaNode: 1, limits: { memory: '512Mi' } },
    ],
    kept: { memory: '1Gi' },
    message:
      'the total amount "1536Mi" of type "memory" is not equal to the value "1Gi" determined by Node Allocatable feature',
  },
  'nothing, although the node keeps memory': {
    reserved: [],
    kept: { memory: '100Mi', cpu: '1' },
    message:
      'the total amount "0" of type "memory" is not equal to the value "100Mi" determined by Node Allocatable feature',
  },
  'huge pages': {
    reserved: [{ numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': '2Mi' } }],
    kept: { memory: '1Gi' },
    message:
      'the total amount "2Mi" of type "hugepages-2Mi" is not equal to the value "0" determined by Node Allocatable feature',
  },
  'a node that does not exist': {
    reserved: [{ numaNode: 2, limits: { memory: '1Gi' } }],
    kept: { memory: '1Gi' },
    message: 'the reserved memory configuration references a NUMA node 2 that does not exist on this machine',
  },
  nothing: { reserved: [], kept: {}, message: '[memorymanager] you should specify the system reserved memory' },
};

for (const [name, { reserved, kept, message }] of Object.entries(wrong)) {
  test(`reservedBytes() rejects ${name}`, () => {
    const amounts = new Map(Object.entries(kept).map(([type, amount]) => [type, parseQuantity(amount)]));
    assert.throws(() => reservedBytes(reserved, amounts, { numaNodes }), { name: 'PlacementConfigError', message });
  });
}

test('reservedBytes() are by node', () => {
  const reserved = [
    { numaNode: 0, limits: { memory: '1Gi' } },
    { numaNode: 1, limits: { memory: '1Gi' } },
  ];
  const bytes = reservedBytes(reserved, new Map([['memory', parseQuantity('2Gi')]]), { numaNodes });
  assert.deepEqual(
    [...bytes].map(([id, own]) => [id, [...own]]),
    [
      [0, [['memory', GIB]]],
      [1, [['memory', GIB]]],
    ],
  );
});
