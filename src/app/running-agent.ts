import type { Pod } from '../api/generated/core-v1.ts';
import type { AgentEvent, ManifestReport, PodReport } from '../kubelet/explain/agent-view.ts';
import { fullDisks } from '../kubelet/node/full-disks.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import type { RuntimeHealth } from '../kubelet/pleg/runtime-health.ts';
import { specGracePeriod } from '../kubelet/pod/grace-period.ts';
import type { Probes } from '../kubelet/probes/probes.ts';
import type { PodCgroups } from '../kubelet/resources/pod-cgroups.ts';
import type { SyncLoop } from '../kubelet/sync-loop.ts';
import { syncLoopUnhealthyReason } from '../kubelet/sync-loop-health.ts';
import type { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { Agent, AgentParts } from './agent.ts';
import type { AgentReports } from '../kubelet/explain/agent-reports.ts';
import type { Garbage } from '../kubelet/gc/garbage-collector.ts';

/** How long a runtime that does not answer is left alone: 100 ms, doubling to 5 s, as kubelet does. */
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

export interface RunningAgentParts extends Pick<AgentParts, 'host' | 'log' | 'settings'> {
  /** Aborts when the agent is to let go of everything. */
  readonly life: AbortController;
  readonly loop: SyncLoop;
  readonly workers: PodWorkers;
  readonly observed: ObservedPods;
  readonly probes: Probes;
  readonly cgroups: PodCgroups;
  readonly health: RuntimeHealth;
  readonly garbage: Pick<Garbage, 'trouble'>;
  readonly reports: AgentReports;
  readonly watch: (signal: AbortSignal) => Promise<unknown>;
}

/** The start and stop order of the agent's parts. */
export class RunningAgent implements Agent {
  readonly #parts: RunningAgentParts;

  constructor(parts: RunningAgentParts) {
    this.#parts = parts;
  }

  get nodeName(): string {
    return this.#parts.settings.nodeName;
  }

  pods(): readonly PodReport[] {
    return this.#parts.reports.pods();
  }

  manuallyStopped(): readonly Pod[] {
    const { loop, workers } = this.#parts;
    const isAside = ({ metadata: { uid } }: Pod): boolean => !workers.all.has(uid) && !loop.rejected.has(uid);
    return [...loop.index.podByUid.values()].filter(isAside);
  }

  manifests(): readonly ManifestReport[] {
    return this.#parts.reports.manifests;
  }

  async nodeErrors(): Promise<readonly string[]> {
    const { health, garbage } = this.#parts;
    const known = [health.unhealthyReason(), garbage.trouble()].filter((trouble) => trouble !== undefined);
    return [...known, ...(await this.fullDisks())];
  }

  fullDisks(): Promise<readonly string[]> {
    const { host, settings } = this.#parts;
    return fullDisks([settings.rootDir, settings.podLogsDir], host.fs);
  }

  syncLoopUnhealthyReason(): string | undefined {
    const { loop, health, settings } = this.#parts;
    const standstill = { stuckForMs: loop.stuckForMs(), runtimeAwayForMs: health.downForMs() };
    return syncLoopUnhealthyReason(standstill, settings.syncFrequencyMs);
  }

  subscribe(listener: (event: AgentEvent) => void): () => void {
    return this.#parts.reports.subscribe(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { life, loop, watch, workers, probes } = this.#parts;
    const end = (): void => life.abort(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    try {
      // What runs already has to be known before anything is decided.
      await this.#firstLook(life.signal);
      if (!signal.aborted) await Promise.all([watch(life.signal), loop.run(life.signal)]);
    } finally {
      life.abort(new Error('the agent ends'));
      await workers.settled();
      await probes.stop();
    }
  }

  async stopPod(uid: string, graceSeconds: number | undefined): Promise<void> {
    const { workers } = this.#parts;
    const worker = workers.all.get(uid);
    if (!worker) return;
    const asked = specGracePeriod(worker.pod);
    const gone = this.#whenGone((left) => !left.has(uid));
    workers.terminate(uid, { graceSeconds: Math.min(asked, graceSeconds ?? asked), removed: true });
    await gone;
  }

  async drain(): Promise<void> {
    const { loop, observed, cgroups, life } = this.#parts;
    // What came of a sandbox whose pod ended while it was being made, nobody has heard of.
    await observed.relist(life.signal).catch(() => undefined);
    await loop.close(life.signal);
    await this.#whenGone((left) => left.size === 0);
    await cgroups.removeAll({ includingRoot: true });
  }

  async #firstLook(signal: AbortSignal): Promise<void> {
    const { observed, health, host, log } = this.#parts;
    for (let wait = FIRST_RETRY_MS; !signal.aborted; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      try {
        await observed.relist(signal);
        return health.recordSuccess();
      } catch (error) {
        health.recordFailure(error);
        if (!signal.aborted) log.error('the runtime does not answer, will try again', { error });
        await host.clock.sleep(wait, signal).catch(() => undefined);
      }
    }
  }

  /** Resolves at the first moment at which the pods that are left are as asked; also right away. */
  #whenGone(done: (left: ReadonlyMap<string, unknown>) => boolean): Promise<void> {
    const { reports, workers } = this.#parts;
    return new Promise((resolve) => {
      const stop = reports.subscribe(({ kind }) => {
        if (kind !== 'gone' || !done(workers.all)) return;
        stop();
        resolve();
      });
      if (!done(workers.all)) return;
      stop();
      resolve();
    });
  }
}
