import { CpuSet } from '../../base/cpu-set.ts';

/** By pod UID, then by container. */
export type CpuAssignments = ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;

/** Which CPUs containers have. Immutable. */
export interface CpuState {
  /** The CPUs of all containers without CPUs of their own. kubelet's default CPU set. */
  readonly shared: CpuSet;
  readonly assignments: CpuAssignments;
}

export const EMPTY_STATE: CpuState = { shared: CpuSet.EMPTY, assignments: new Map() };

/** The container's own CPUs. */
export function assignedCpus({ assignments }: CpuState, uid: string, container: string): CpuSet | undefined {
  return assignments.get(uid)?.get(container);
}

export function allAssignedCpus({ assignments }: CpuState): CpuSet {
  return unionOf([...assignments.values()].flatMap((ofPod) => [...ofPod.values()]));
}

/** Takes the CPUs out of the shared pool. */
export function assign(state: CpuState, uid: string, container: string, cpus: CpuSet): CpuState {
  const ofPod = new Map(state.assignments.get(uid)).set(container, cpus);
  return { shared: state.shared.difference(cpus), assignments: new Map(state.assignments).set(uid, ofPod) };
}

/** Returns all CPUs of the pod to the shared pool. */
export function release(state: CpuState, uid: string): CpuState {
  const ofPod = state.assignments.get(uid);
  if (ofPod === undefined) return state;
  const assignments = new Map(state.assignments);
  assignments.delete(uid);
  return { shared: state.shared.union(unionOf([...ofPod.values()])), assignments };
}

function unionOf(sets: readonly CpuSet[]): CpuSet {
  return new CpuSet(sets.flatMap(({ list }) => list));
}
