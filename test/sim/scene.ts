import type { Container } from '../../src/api/generated/core-v1.ts';
import type { FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { ClusterBook } from './cluster-book.ts';
import type { SimObjects } from './sim-objects.ts';
import type { PodRecord, Truth } from './truth.ts';

export interface Violation {
  /** The number of the sentence in README.md. */
  readonly invariant: number;
  readonly text: string;
  /** The UID of the pod that it is about, where there is one. */
  readonly uid: string | undefined;
  /** Milliseconds since the world began. */
  readonly at: number;
}

/** What the checks look at. */
export interface Scene {
  readonly truth: Truth;
  readonly objects: SimObjects;
  /** Between the node and its cluster. */
  readonly book: ClusterBook;
  readonly runtime: Pick<FakeRuntime, 'containers' | 'sandboxes'>;
  /** Milliseconds since the world began. */
  readonly now: () => number;
  /** What the machine's clock shows, which may jump. */
  readonly wallMs: () => number;
  /** From then on nothing is wrong any more, nor the consequence of something that was. */
  readonly quietAt: number;
  /** When the wall clock last jumped. */
  readonly jumpedAt: () => number;
  /** The number of the agent's present life, and when it began. */
  readonly life: () => number;
  readonly bornAt: () => number;
  /** An image was pulled, and the agent was told that it was not. */
  readonly hasLostPull: () => boolean;
  /** How many sources there are. */
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
