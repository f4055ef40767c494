import type { Pod, PodStatus } from '../../../api/generated/core-v1.ts';
import type { StartStep } from '../../events/start-steps.ts';
import type { AgentEvent, AgentView, ManifestReport, PodReport } from '../../explain/agent-view.ts';
import { observedContainer } from '../../pod/observed-container.fixture.ts';
import type { ObservedContainer, ObservedPod } from '../../pod/observed-pod.ts';
import type { LogsQuery } from '../local-api-types.ts';

/** An agent with the pods of a test. */
export class ScriptedView implements AgentView {
  readonly nodeName = 'box';
  /** `uid grace`, in the order of the calls. */
  readonly stopped: string[] = [];
  readonly #reports = new Map<string, PodReport>();
  readonly #listeners = new Set<(event: AgentEvent) => void>();
  #manifests: readonly ManifestReport[] = [];

  pods(): readonly PodReport[] {
    return [...this.#reports.values()];
  }

  /** The result of `manuallyStopped()`. */
  readonly stoppedPods: Pod[] = [];

  manuallyStopped(): readonly Pod[] {
    return this.stoppedPods;
  }

  /** The result of `nodeErrors()`. */
  readonly errors: string[] = [];

  /** The result of `startSteps()`. */
  readonly steps: StartStep[] = [];

  startSteps(): readonly StartStep[] {
    return this.steps;
  }

  preemptions(): ReadonlyMap<string, number> {
    return new Map();
  }

  shutdownTimes(): undefined {}

  podCertificates(): readonly [] {
    return [];
  }

  async nodeErrors(): Promise<readonly string[]> {
    return this.errors;
  }

  /** The result of `fullDisks()`. */
  readonly disks: string[] = [];

  async fullDisks(): Promise<readonly string[]> {
    return this.disks;
  }

  manifests(): readonly ManifestReport[] {
    return this.#manifests;
  }

  async stopPod(uid: string, graceSeconds: number | undefined): Promise<void> {
    this.stopped.push(`${uid} ${graceSeconds}`);
    this.remove(uid);
  }

  subscribe(listener: (event: AgentEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Replaces the report of the pod, and emits its status. */
  show(report: PodReport): void {
    this.#reports.set(report.pod.metadata.uid, report);
    this.emit({ kind: 'status', pod: report.pod, status: report.status });
  }

  addManifestErrors(report: ManifestReport): void {
    this.#manifests = [...this.#manifests, report];
    this.emit({ kind: 'manifest', report });
  }

  remove(uid: string): void {
    const report = this.#reports.get(uid);
    this.#reports.delete(uid);
    if (report) this.emit({ kind: 'gone', pod: report.pod });
  }

  emit(event: AgentEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  get listeners(): number {
    return this.#listeners.size;
  }
}

/** A static pod `hello` of this node with the container `web`, as its manifest names them. */
export function staticPod(name = 'hello', namespace = 'default', containers: readonly string[] = ['web']): Pod {
  const annotations = { 'kubernetes.io/config.source': 'file' };
  return {
    metadata: { name: `${name}-box`, namespace, uid: `${namespace}-${name}`, annotations },
    spec: { containers: containers.map((container) => ({ name: container })), nodeName: 'box' },
  };
}

/** A report of a pod with a worker. */
export function reportOf(pod: Pod, more: Partial<PodReport> = {}): PodReport {
  return { pod, status: { phase: 'Pending' }, observed: undefined, worker: 'syncing', steps: [], events: [], ...more };
}

export const READY: PodStatus = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True' }],
  podIPs: [{ ip: '10.87.0.5' }],
};

/** The observed pod with these containers, newest first. */
export function observedOf({ metadata }: Pod, containers: readonly ObservedContainer[]): ObservedPod {
  const { uid, name, namespace } = metadata;
  return { uid, name, namespace, sandboxes: [], containers, inspectedAt: 0 };
}

export function runningContainer(id: string, name: string, logPath: string): ObservedContainer {
  return observedContainer(name, { state: 'running', startedAt: 1n }, { id, logPath });
}

export function exitedContainer(id: string, name: string, logPath: string): ObservedContainer {
  const end = { startedAt: 1n, finishedAt: 2n, exitCode: 1, reason: 'Error', message: '' };
  return observedContainer(name, { state: 'exited', ...end }, { id, logPath });
}

/** The whole log of the pod's only container. */
export function wholeLog(name: string): LogsQuery {
  return {
    pod: { name, namespace: undefined },
    container: undefined,
    follow: false,
    previous: false,
    timestamps: false,
    tailLines: undefined,
    sinceMs: undefined,
    limitBytes: undefined,
  };
}
