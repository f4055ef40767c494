import type { Pod } from '../../src/api/generated/core-v1.ts';
import { podFullName } from '../../src/api/pod-names.ts';
import type { FakeContainer, FakeSandbox } from '../../src/cri/fake/records.ts';
import type { SimSource } from './plan-world.ts';

/** A container of the runtime, kept after its removal. Times are milliseconds of the world. */
export interface ContainerRecord {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly image: string;
  readonly incarnation: number;
  readonly createdAt: number;
  startedAt?: number;
  /** The agent began to stop it while no source had reported its pod; a later report comes too late. */
  wasOrphan?: true;
  /** When its termination was first requested. */
  stopRequestedAt?: number;
  /** It had exited by itself when the agent, which had not seen the exit yet, stopped it. */
  exitedBeforeStop?: true;
  /** Whether a Started event is due; cleared once it was checked. */
  needsStartEvent?: boolean;
  endedAt?: number;
  exitCode?: number;
  removedAt?: number;
  /** Its postStart hook, once it has begun. */
  postStart?: {
    readonly processNumber: number;
    readonly endsAt: number;
    readonly fails: boolean;
    /** The numbers of the agent processes that have requested a stop of the container since, one entry per call. */
    readonly stops: number[];
  };
  /** The last run of its preStop hook; `knownState` is the state of the pod that the agent knew then. */
  preStop?: {
    readonly processNumber: number;
    readonly at: number;
    readonly firstAt: number;
    readonly knownState: string;
  };
}

/** The state of a pod that a source has reported to the current agent process. */
export interface ReportedPod {
  readonly as: 'wanted' | 'deleted' | 'dropped';
  readonly at: number;
  /** When it was first reported to this process. */
  readonly firstAt: number;
  readonly source: SimSource;
  readonly pod: Pod;
}

/** The actual state of one pod, independent of the agent's view. */
export interface PodRecord {
  readonly uid: string;
  readonly fullName: string;
  /** The versions that users have set, newest last; includes deletion marks. */
  readonly versions: Pod[];
  /** Users want it to run. */
  isWanted: boolean;
  /** The last moment at which it was not wanted. */
  unwantedAt: number;
  reported: ReportedPod | undefined;
  /** The grace periods that the current agent process was asked for, in seconds. */
  readonly requestedGraces: number[];
  /** The end of the shortest requested grace period. */
  endsBy: number;
  /** Incremented when the pod is recreated after the agent was notified of its removal. */
  incarnation: number;
  /** `dropped`: the agent was notified of its removal; `returning`: and then of its recreation. */
  drop: 'dropped' | 'returning' | undefined;
  /** When this incarnation was first shown with a terminal phase. */
  overAt: number | undefined;
  phase: string | undefined;
  /** The status that was last shown has a reason, such as that of a rejection. */
  hasReason: boolean;
  /** It was shown as evicted. */
  isEvicted: boolean;
  /** The reason of its terminal phase. */
  endReason: string | undefined;
  /** When the agent recorded that it preempts the pod. */
  preemptedAt: number | undefined;
  /** The exclusive CPUs and the devices of its containers, by incarnation and name. */
  readonly placements: Map<string, { readonly cpus: string; readonly devices: string }>;
  /** The phase that the API server has; a static pod has none there. */
  writtenPhase: string | undefined;
  readonly restartCounts: Map<string, number>;
  /** When the agent last asked for one of its containers to be stopped. */
  lastStopAt: number | undefined;
  /** When the agent last showed a new status of it. */
  statusAt: number;
  /** When something last happened to it in the runtime. */
  changedAt: number;
  readonly containers: ContainerRecord[];
}

/** The records of all pods and containers of a world. */
export class PodRecords {
  readonly pods = new Map<string, PodRecord>();
  readonly containers = new Map<string, ContainerRecord>();
  readonly #now: () => number;
  readonly #reports = new Map<SimSource, ReadonlyMap<string, Pod>>();

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

  /** A user removes it from its source. */
  remove(uid: string): void {
    const record = this.pods.get(uid);
    if (!record) return;
    record.isWanted = false;
    record.unwantedAt = this.#now();
  }

  /** A new agent process has received no report. */
  forgetReports(): void {
    this.#reports.clear();
    for (const record of this.pods.values()) {
      if (isPhaseLost(record)) {
        record.overAt = undefined;
        record.phase = undefined;
        record.isEvicted = false;
        record.endReason = undefined;
        record.placements.clear();
      }
      record.preemptedAt = undefined;
      record.reported = undefined;
      record.requestedGraces.length = 0;
      record.endsBy = Number.POSITIVE_INFINITY;
      record.restartCounts.clear();
      if (record.drop) record.drop = 'dropped';
    }
  }

  get sourcesReported(): number {
    return this.#reports.size;
  }

  /** A source has reported its whole set to the agent. */
  report(source: SimSource, pods: readonly Pod[]): void {
    const now = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
    for (const [uid, pod] of this.#reports.get(source) ?? []) if (!now.has(uid)) this.#drop(uid, source, pod);
    for (const pod of pods) this.#reportPod(source, pod);
    this.#reports.set(source, now);
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
      reported: undefined,
      requestedGraces: [],
      endsBy: Number.POSITIVE_INFINITY,
      incarnation: 0,
      drop: undefined,
      overAt: undefined,
      phase: undefined,
      hasReason: false,
      isEvicted: false,
      endReason: undefined,
      preemptedAt: undefined,
      placements: new Map(),
      writtenPhase: undefined,
      restartCounts: new Map(),
      lastStopAt: undefined,
      statusAt: 0,
      changedAt: 0,
      containers: [],
    };
    this.pods.set(uid, record);
    return record;
  }

  #ask(record: PodRecord, pod: Pod): void {
    record.requestedGraces.push(gracePeriodSeconds(pod));
    record.endsBy = Math.min(record.endsBy, this.#now() + 1000 * gracePeriodSeconds(pod));
  }

  #drop(uid: string, source: SimSource, pod: Pod): void {
    const record = this.pods.get(uid);
    if (!record) return;
    const firstAt = record.reported?.firstAt ?? this.#now();
    record.reported = { as: 'dropped', at: this.#now(), firstAt, source, pod };
    this.#ask(record, pod);
    record.drop = 'dropped';
  }

  #reportPod(source: SimSource, pod: Pod): void {
    const record = this.#record(pod);
    const isDeleted = pod.metadata.deletionTimestamp !== undefined;
    if (record.drop === 'dropped') {
      record.drop = 'returning';
      record.requestedGraces.length = 0;
      record.endsBy = Number.POSITIVE_INFINITY;
      // A new agent process cannot know that existing containers belong to a previous incarnation.
      if (!record.reported) startNewIncarnation(record);
    }
    if (isDeleted) this.#ask(record, pod);
    const as = isDeleted ? 'deleted' : 'wanted';
    const before = record.reported?.as === as ? record.reported : undefined;
    const isNew = record.reported === undefined || record.reported.as === 'dropped';
    const firstAt = isNew ? this.#now() : (record.reported?.firstAt ?? this.#now());
    record.reported = { as, at: before?.at ?? this.#now(), firstAt, source, pod };
  }
}

/**
 * Only the memory of the agent process has the phase: it is not at the API server, and does not follow from containers. It
 * is that of a static pod with a reason, or of a pod that was rejected, or deleted before its first container was created,
 * and whose status could not be written in time.
 */
function isPhaseLost({ phase, writtenPhase, hasReason, reported, incarnation, containers }: PodRecord): boolean {
  if (phase === writtenPhase) return false;
  if (hasReason) return true;
  return reported?.source === 'api' && !containers.some((each) => each.incarnation === incarnation);
}

/** The history of the previous incarnation no longer counts. */
export function startNewIncarnation(pod: PodRecord): void {
  pod.drop = undefined;
  pod.incarnation++;
  pod.overAt = undefined;
  pod.phase = undefined;
  pod.isEvicted = false;
  pod.endReason = undefined;
  pod.preemptedAt = undefined;
  pod.restartCounts.clear();
}

/** The grace period of a pod in seconds. */
export function gracePeriodSeconds({ metadata, spec }: Pod): number {
  return metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30;
}
