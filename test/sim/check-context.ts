import type { Container } from '../../src/api/generated/core-v1.ts';
import type { FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { ClusterState } from './cluster-state.ts';
import type { MachineSide } from './machine-side.ts';
import type { PodRecord, PodRecords } from './pod-records.ts';
import type { SimDisks } from './sim-disks.ts';
import type { SimObjects } from './sim-objects.ts';

export interface Violation {
  /** The number of the invariant in README.md. */
  readonly invariant: number;
  readonly text: string;
  /** The UID of the pod concerned, if any. */
  readonly uid: string | undefined;
  /** Milliseconds since the world began. */
  readonly at: number;
}

/** The inputs of the checks. */
export interface CheckContext {
  readonly records: PodRecords;
  readonly objects: SimObjects;
  readonly disks: SimDisks;
  /** Absent: the resources of the machine are not assigned to pods. */
  readonly machine: MachineSide | undefined;
  /** The state of the node and its cluster. */
  readonly clusterState: ClusterState;
  readonly runtime: Pick<FakeRuntime, 'containers' | 'sandboxes'>;
  /** Milliseconds since the world began. */
  readonly now: () => number;
  /** The wall clock of the machine, which may jump. */
  readonly wallMs: () => number;
  /** From then on there are no faults, and no consequences of earlier ones. */
  readonly quietAt: number;
  /** When the wall clock last jumped. */
  readonly jumpedAt: () => number;
  /** The number of the current agent process, and its start time. */
  readonly processNumber: () => number;
  readonly agentStartedAt: () => number;
  /** A pull succeeded but was reported to the agent as failed. */
  readonly hasLostPull: () => boolean;
  /** The number of pod sources. */
  readonly sources: number;
  readonly fail: (invariant: number, text: string) => void;
}

export type Role = 'init' | 'sidecar' | 'main' | 'ephemeral';

export function roleOf(pod: PodRecord, name: string): Role {
  const init = initsOf(pod).find((each) => each.name === name);
  const isEphemeral = pod.versions.some(({ spec }) => spec.ephemeralContainers?.some((each) => each.name === name));
  if (!init) return isEphemeral ? 'ephemeral' : 'main';
  return init.restartPolicy === 'Always' ? 'sidecar' : 'init';
}

export function initsOf({ versions }: PodRecord): readonly Container[] {
  return versions.at(-1)?.spec.initContainers ?? [];
}
