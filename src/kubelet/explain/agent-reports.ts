import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import type { PodEvent, PodEvents } from '../events/pod-events.ts';
import type { Timeline } from '../events/timeline.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import type { ErrorCause } from '../pod/pod-cause.ts';
import type { SourceError } from '../sources/pod-source.ts';
import type { StatusStore } from '../status/status-store.ts';
import type { PodWorker } from '../workers/pod-worker.ts';
import type { PodWorkers } from '../workers/pod-workers.ts';
import type { AgentEvent, ManifestReport, OlderPod, PodReport, WorkerPhase } from './agent-view.ts';

const EVENTS_PER_POD = 50;

export interface AgentReportsDeps {
  readonly workers: PodWorkers;
  readonly observed: ObservedPods;
  readonly statuses: StatusStore;
  readonly timeline: Timeline;
  readonly events: PodEvents;
  /** What the running step of a pod waits for. */
  readonly pending: (uid: string) => readonly ErrorCause[];
  /** Rejected pods, by UID. */
  readonly rejected: () => ReadonlyMap<string, Pod>;
}

/** Combines the state of all parts of the agent into reports, and passes on its events. */
export class AgentReports {
  readonly #parts: AgentReportsDeps;
  readonly #listeners = new Set<(event: AgentEvent) => void>();
  readonly #events = new Map<string, PodEvent[]>();
  readonly #manifests = new Map<string, readonly ManifestReport[]>();

  constructor(parts: AgentReportsDeps) {
    this.#parts = parts;
    const { timeline, events, statuses } = parts;
    timeline.subscribe((uid, step) => {
      const pod = this.#podOf(uid);
      if (pod) this.#notify({ kind: 'step', pod, step });
    });
    events.subscribe((pod, event) => {
      const { uid } = pod.metadata;
      this.#events.set(uid, [...(this.#events.get(uid) ?? []).slice(1 - EVENTS_PER_POD), event]);
      this.#notify({ kind: 'event', pod, event });
    });
    statuses.subscribe(({ pod, status }) => this.#notify({ kind: 'status', pod, status }));
  }

  pods(): readonly PodReport[] {
    const { workers, rejected } = this.#parts;
    const running = [...workers.all.values()].map((worker) => this.#workerReport(worker));
    return [...running, ...[...rejected().values()].map((pod) => this.#report(pod, 'finished'))];
  }

  get manifests(): readonly ManifestReport[] {
    return [...this.#manifests.values()].flat();
  }

  subscribe(listener: (event: AgentEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  podGone(pod: Pod): void {
    this.#events.delete(pod.metadata.uid);
    this.#notify({ kind: 'gone', pod });
  }

  /** Replaces the errors of a source. */
  setSourceErrors(name: string, errors: readonly SourceError[]): void {
    const before = new Set(this.#manifests.get(name)?.map((report) => JSON.stringify(report)));
    const byLocation = Map.groupBy(errors, ({ location }) => location);
    const now = [...byLocation].map(([source, all]) => ({ source, errors: all.map(({ message }) => message) }));
    this.#manifests.set(name, now);
    for (const report of now) {
      if (!before.has(JSON.stringify(report))) this.#notify({ kind: 'manifest', report });
    }
  }

  #workerReport(worker: PodWorker): PodReport {
    const { pod, state, progress } = worker;
    const pending = this.#parts.pending(pod.metadata.uid);
    const waitsFor = state.phase === 'waiting' ? this.#olderPod(worker) : undefined;
    return {
      ...this.#report(pod, state.phase),
      progress,
      ...(waitsFor && { waitsFor }),
      ...(pending.length > 0 && { pending }),
    };
  }

  /** The first worker of a name holds it; workers are kept in the order of arrival. */
  #olderPod(waiting: PodWorker): OlderPod | undefined {
    const name = podFullName(waiting.pod);
    const first = [...this.#parts.workers.all.values()].find(({ pod }) => podFullName(pod) === name);
    return first && first !== waiting ? { uid: first.uid, worker: first.state.phase } : undefined;
  }

  #report(pod: Pod, worker: WorkerPhase): PodReport {
    const { observed, statuses, timeline } = this.#parts;
    const { uid } = pod.metadata;
    const status: PodStatus = statuses.get(uid)?.status ?? { phase: 'Pending' };
    const events = this.#events.get(uid) ?? [];
    return { pod, status, observed: observed.get(uid), worker, steps: timeline.steps(uid), events };
  }

  #podOf(uid: string): Pod | undefined {
    return this.#parts.workers.all.get(uid)?.pod;
  }

  #notify(event: AgentEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
