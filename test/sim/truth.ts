import type { Pod } from '../../src/api/generated/core-v1.ts';
import { podFullName } from '../../src/api/pod-names.ts';
import type { FakeContainer, FakeSandbox } from '../../src/cri/fake/records.ts';
import type { SimSource } from './plan-world.ts';

/** One container that the runtime had, also after it is gone. Times are milliseconds of the world. */
export interface ContainerRecord {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly image: string;
  readonly incarnation: number;
  readonly createdAt: number;
  startedAt?: number;
  /** The agent began to end it when no source had spoken of its pod; what a source says later comes too late. */
  wasLeftover?: true;
  /** When it was first asked to end. */
  askedAt?: number;
  /** It had ended by itself when the agent, which had not heard of that yet, had it stopped. */
  stopCameLate?: true;
  /** Whether an event has to tell of its start, which the agent knows of; nothing once that was looked at. */
  isToBeTold?: boolean;
  endedAt?: number;
  exitCode?: number;
  removedAt?: number;
  /** Of its postStart hook, once it has begun. */
  postStart?: { readonly life: number; readonly endsAt: number; readonly fails: boolean; stopAsked: boolean };
  /** Of the last time that its preStop hook was asked for; `news` is what the agent knew then. */
  preStop?: {
    readonly life: number;
    readonly at: number;
    readonly firstAt: number;
    readonly news: string;
  };
}

/** What the agent was told of a pod in its present life. */
export interface Told {
  readonly as: 'wanted' | 'deleted' | 'dropped';
  readonly at: number;
  readonly source: SimSource;
  readonly pod: Pod;
}

/** All that is true of one pod, whatever the agent believes. */
export interface PodRecord {
  readonly uid: string;
  readonly fullName: string;
  /** As users have put it, newest last; marks of deletion included. */
  readonly versions: Pod[];
  /** Users want it to run. */
  isWanted: boolean;
  /** The last moment at which they did not. */
  unwantedAt: number;
  told: Told | undefined;
  /** Grace periods that were asked for in this life of the agent, in seconds. */
  readonly asked: number[];
  /** When all of its containers must have had the time that was asked for. */
  endsBy: number;
  /** Grows when the pod begins anew after the agent was told that it is gone. */
  incarnation: number;
  /** The agent was told that it is gone; `returning`: and then that it is back. */
  drop: 'dropped' | 'returning' | undefined;
  /** When this incarnation was first shown with a terminal phase. */
  overAt: number | undefined;
  phase: string | undefined;
  /** Nothing but the agent's own memory has the reason for which a static pod has failed. */
  isForgotten: boolean;
  readonly restartCounts: Map<string, number>;
  /** When the agent last asked for one of its containers to be stopped. */
  stopAskedAt: number | undefined;
  /** When the agent last showed a new status of it. */
  statusAt: number;
  /** When something last happened to it in the runtime. */
  changedAt: number;
  readonly containers: ContainerRecord[];
}

/** The book about all pods of a world. */
export class Truth {
  readonly pods = new Map<string, PodRecord>();
  readonly containers = new Map<string, ContainerRecord>();
  readonly #now: () => number;
  readonly #told = new Map<SimSource, ReadonlyMap<string, Pod>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A user puts a pod into a source, or changes it there. */
  put(pod: Pod): void {
    const record = this.#record(pod);
    record.versions.push(pod);
    record.isWanted = pod.metadata.deletionTimestamp === undefined;
    if (!record.isWanted) record.unwantedAt = this.#now();
  }

  /** A user takes it out. */
  take(uid: string): void {
    const record = this.pods.get(uid);
    if (!record) return;
    record.isWanted = false;
    record.unwantedAt = this.#now();
  }

  /** A new life of the agent knows nothing. */
  forgetTold(): void {
    this.#told.clear();
    for (const record of this.pods.values()) {
      record.told = undefined;
      record.asked.length = 0;
      record.endsBy = Number.POSITIVE_INFINITY;
      record.restartCounts.clear();
      if (record.drop) record.drop = 'dropped';
      if (record.isForgotten) {
        record.overAt = undefined;
        record.phase = undefined;
      }
    }
  }

  get sourcesHeard(): number {
    return this.#told.size;
  }

  /** A source has told its whole set to the agent. */
  tell(source: SimSource, pods: readonly Pod[]): void {
    const now = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
    for (const [uid, pod] of this.#told.get(source) ?? []) if (!now.has(uid)) this.#drop(uid, source, pod);
    for (const pod of pods) this.#hear(source, pod);
    this.#told.set(source, now);
  }

  podOf({ config }: Pick<FakeContainer | FakeSandbox, 'config'>): PodRecord | undefined {
    return this.pods.get(config.labels['io.kubernetes.pod.uid'] ?? '');
  }

  /** A container appears in the runtime. */
  created(container: Readonly<FakeContainer>): void {
    const pod = this.podOf(container);
    const record: ContainerRecord = {
      id: container.id,
      name: container.config.metadata?.name ?? '',
      sandboxId: container.sandboxId,
      image: container.config.image?.userSpecifiedImage ?? '',
      incarnation: pod?.incarnation ?? 0,
      createdAt: this.#now(),
    };
    this.containers.set(container.id, record);
    pod?.containers.push(record);
  }

  #record(pod: Pod): PodRecord {
    const { uid } = pod.metadata;
    const known = this.pods.get(uid);
    if (known) return known;
    const record: PodRecord = {
      uid,
      fullName: podFullName(pod),
      versions: [],
      isWanted: false,
      unwantedAt: Number.NEGATIVE_INFINITY,
      told: undefined,
      asked: [],
      endsBy: Number.POSITIVE_INFINITY,
      incarnation: 0,
      drop: undefined,
      overAt: undefined,
      phase: undefined,
      isForgotten: false,
      restartCounts: new Map(),
      stopAskedAt: undefined,
      statusAt: 0,
      changedAt: 0,
      containers: [],
    };
    this.pods.set(uid, record);
    return record;
  }

  #ask(record: PodRecord, pod: Pod): void {
    record.asked.push(graceOf(pod));
    record.endsBy = Math.min(record.endsBy, this.#now() + 1000 * graceOf(pod));
  }

  #drop(uid: string, source: SimSource, pod: Pod): void {
    const record = this.pods.get(uid);
    if (!record) return;
    record.told = { as: 'dropped', at: this.#now(), source, pod };
    this.#ask(record, pod);
    record.drop = 'dropped';
  }

  #hear(source: SimSource, pod: Pod): void {
    const record = this.#record(pod);
    const isDeleted = pod.metadata.deletionTimestamp !== undefined;
    if (record.drop === 'dropped') {
      record.drop = 'returning';
      record.asked.length = 0;
      record.endsBy = Number.POSITIVE_INFINITY;
      // A new life of the agent cannot know that what is left is of an earlier time.
      if (!record.told) beginAnew(record);
    }
    if (isDeleted) this.#ask(record, pod);
    const as = isDeleted ? 'deleted' : 'wanted';
    record.told = { as, at: record.told?.as === as ? record.told.at : this.#now(), source, pod };
  }
}

/** What was before does not count any more. */
export function beginAnew(pod: PodRecord): void {
  pod.drop = undefined;
  pod.incarnation++;
  pod.overAt = undefined;
  pod.phase = undefined;
  pod.restartCounts.clear();
}

/** What the end of a pod is given, in seconds. */
export function graceOf({ metadata, spec }: Pod): number {
  return metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30;
}
