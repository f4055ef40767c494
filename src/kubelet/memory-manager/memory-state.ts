/** The memory of one kind on a NUMA node, in bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  /** Assigned to containers. */
  readonly reserved: number;
  readonly free: number;
}

export interface NumaNodeMemory {
  readonly numberOfAssignments: number;
  /** By kind: `memory`, `hugepages-2Mi`. */
  readonly memoryMap: ReadonlyMap<string, MemoryTable>;
  /** The node, and the nodes that it forms a group with: containers of a group use memory of all of its nodes. */
  readonly cells: readonly number[];
}

/** By the id of the NUMA node. */
export type MachineMemory = ReadonlyMap<number, NumaNodeMemory>;

/** Memory of one kind that a container was assigned. */
export interface AssignedMemory {
  readonly numaAffinity: readonly number[];
  readonly type: string;
  readonly size: number;
}

/** By pod UID, then by container. */
export type MemoryAssignments = ReadonlyMap<string, ReadonlyMap<string, readonly AssignedMemory[]>>;

/** kubelet's state of the memory manager. Immutable. */
export interface MemoryState {
  readonly machine: MachineMemory;
  readonly assignments: MemoryAssignments;
}

export const EMPTY_STATE: MemoryState = { machine: new Map(), assignments: new Map() };

export function blocksOf(
  { assignments }: MemoryState,
  uid: string,
  container: string,
): readonly AssignedMemory[] | undefined {
  return assignments.get(uid)?.get(container);
}

export function withBlocks(
  state: MemoryState,
  uid: string,
  container: string,
  blocks: readonly AssignedMemory[],
): MemoryState {
  const containers = new Map(state.assignments.get(uid)).set(container, blocks);
  return { ...state, assignments: new Map(state.assignments).set(uid, containers) };
}

/** Takes memory from the nodes in their order. The nodes form a group from then on, also if the size is zero. */
export function takeMemory(machine: MachineMemory, { numaAffinity, type, size }: AssignedMemory): MachineMemory {
  const next = new Map(machine);
  let rest = size;
  for (const id of numaAffinity) {
    const node = next.get(id);
    if (!node) continue;
    const table = node.memoryMap.get(type);
    const taken = Math.min(rest, Math.max(0, table?.free ?? 0));
    rest -= taken;
    next.set(id, {
      numberOfAssignments: node.numberOfAssignments + 1,
      cells: numaAffinity,
      memoryMap: moved(node.memoryMap, type, taken),
    });
  }
  return next;
}

/** Removes a container; its memory is free again. */
export function withoutContainer(state: MemoryState, uid: string, container: string): MemoryState {
  const blocks = blocksOf(state, uid, container);
  if (blocks === undefined) return state;
  const containers = new Map(state.assignments.get(uid));
  containers.delete(container);
  const assignments = new Map(state.assignments);
  if (containers.size > 0) assignments.set(uid, containers);
  else assignments.delete(uid);
  return { machine: blocks.reduce(giveMemory, state.machine), assignments };
}

function giveMemory(machine: MachineMemory, { numaAffinity, type, size }: AssignedMemory): MachineMemory {
  const next = new Map(machine);
  let rest = size;
  for (const id of numaAffinity) {
    const node = next.get(id);
    if (!node) continue;
    const numberOfAssignments = node.numberOfAssignments - 1;
    const given = Math.min(rest, node.memoryMap.get(type)?.reserved ?? 0);
    rest -= given;
    next.set(id, {
      numberOfAssignments,
      cells: numberOfAssignments === 0 ? [id] : node.cells,
      memoryMap: moved(node.memoryMap, type, -given),
    });
  }
  return next;
}

/** Moves free memory to the reserved one; a negative size moves it back. */
function moved(map: ReadonlyMap<string, MemoryTable>, type: string, size: number): ReadonlyMap<string, MemoryTable> {
  const table = map.get(type);
  if (!table || size === 0) return map;
  return new Map(map).set(type, { ...table, reserved: table.reserved + size, free: table.free - size });
}
