import type { Pod } from '../api/generated/core-v1.ts';
import { isStaticPod } from '../api/pod-names.ts';
import { type Part, supervise } from '../base/supervise.ts';
import type { UnhandledErrors } from '../base/unhandled-errors.ts';
import type { StartStep, StartSteps } from '../kubelet/events/start-steps.ts';
import type { AgentReports } from '../kubelet/explain/agent-reports.ts';
import type { AgentEvent, AgentView, ManifestReport, PodReport } from '../kubelet/explain/agent-view.ts';
import type { ImageCollector } from '../kubelet/gc/image-collector.ts';
import { fullDisks } from '../kubelet/node/full-disks.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import type { RuntimeHealth } from '../kubelet/pleg/runtime-health.ts';
import { specGracePeriod } from '../kubelet/pod/grace-period.ts';
import type { CertificateCount, PodCertificates } from '../kubelet/pod-certificates/pod-certificates.ts';
import type { Probes } from '../kubelet/probes/probes.ts';
import type { PodCgroups } from '../kubelet/resources/pod-cgroups.ts';
import type { NodeShutdown, ShutdownPods } from '../kubelet/shutdown/node-shutdown.ts';
import type { ShutdownTimes } from '../kubelet/shutdown/shutdown-state.ts';
import type { NodeStatistics } from '../kubelet/stats/stats-source.ts';
import { isTerminal } from '../kubelet/status/pod-phase.ts';
import type { SyncLoop } from '../kubelet/sync-loop.ts';
import { syncLoopUnhealthyReason } from '../kubelet/sync-loop-health.ts';
import type { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { Agent, AgentParts, AgentReadings } from './agent.ts';
import type { AgentDevices } from './build-device-manager.ts';

/** The delay before the first relist is retried: 100 ms, doubled up to 5 s, as in kubelet. */
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/** How long a shutdown waits for the API server to have the last statuses. */
const REPORT_MS = 5_000;
const REPORT_CHECK_MS = 100;

export interface RunningAgentParts extends Pick<AgentParts, 'host' | 'log' | 'settings'> {
  /** Aborted when the agent stops. */
  readonly life: AbortController;
  readonly loop: SyncLoop;
  readonly workers: PodWorkers;
  readonly observed: ObservedPods;
  readonly probes: Probes;
  readonly cgroups: PodCgroups;
  readonly health: RuntimeHealth;
  readonly devices: Pick<AgentDevices, 'unhealthyReason'>;
  readonly images: Pick<ImageCollector, 'diskError'>;
  readonly reports: AgentReports;
  readonly stats: NodeStatistics;
  readonly podCertificates: Pick<PodCertificates, 'counts'>;
  readonly shutdown: Pick<NodeShutdown, 'times' | 'shutDown'>;
  readonly atShutdown: ShutdownPods;
  readonly preemptions: AgentView['preemptions'];
  readonly startSteps: Pick<StartSteps, 'all'>;
  readonly readings: AgentReadings;
  readonly unhandled: UnhandledErrors;
  /** Run beside the sync loop, started in this order, each restarted when it fails. */
  readonly background: readonly Part[];
}

/** Starts and stops the parts of an agent in order. */
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

  get stats(): NodeStatistics {
    return this.#parts.stats;
  }

  get readings(): AgentReadings {
    return this.#parts.readings;
  }

  manuallyStopped(): readonly Pod[] {
    const { loop, workers } = this.#parts;
    const isStopped = ({ metadata: { uid } }: Pod): boolean => !workers.all.has(uid) && !loop.rejected.has(uid);
    return [...loop.index.podByUid.values()].filter(isStopped);
  }

  manifests(): readonly ManifestReport[] {
    return this.#parts.reports.manifests;
  }

  podCertificates(): readonly CertificateCount[] {
    return this.#parts.podCertificates.counts();
  }

  startSteps(): readonly StartStep[] {
    return this.#parts.startSteps.all();
  }

  preemptions(): ReadonlyMap<string, number> {
    return this.#parts.preemptions();
  }

  shutdownTimes(): ShutdownTimes | undefined {
    return this.#parts.shutdown.times;
  }

  async nodeErrors(): Promise<readonly string[]> {
    const { health, images, unhandled } = this.#parts;
    const reasons = [
      health.unhealthyReason(),
      images.diskError,
      unhandled.failedParts(),
      unhandledText(unhandled.recentError()),
    ];
    const known = reasons.filter((error) => error !== undefined);
    return [...known, ...(await this.fullDisks())];
  }

  fullDisks(): Promise<readonly string[]> {
    const { host, settings } = this.#parts;
    return fullDisks([settings.rootDir, settings.podLogsDir], host.fs);
  }

  syncLoopUnhealthyReason(): string | undefined {
    const { loop, health, settings } = this.#parts;
    const stall = { stuckForMs: loop.stuckForMs(), runtimeDownForMs: health.downForMs() };
    return syncLoopUnhealthyReason(stall, settings.syncFrequencyMs);
  }

  devicePluginUnhealthyReason(): string | undefined {
    return this.#parts.devices.unhealthyReason();
  }

  subscribe(listener: (event: AgentEvent) => void): () => void {
    return this.#parts.reports.subscribe(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { life, loop, background, workers, probes, unhandled, host } = this.#parts;
    const stop = (): void => life.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      // Running containers are observed before any decision is made.
      await this.#firstRelist(life.signal);
      if (signal.aborted) return;
      const running = background.map((part) => supervise(part, { clock: host.clock, unhandled }, life.signal));
      await Promise.all([unhandled.untilBroken(life.signal), ...running, loop.run(life.signal)]);
    } finally {
      life.abort(new Error('the agent stops'));
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
    // A sandbox whose pod was removed during RunPodSandbox is not observed yet.
    await observed.relist(life.signal).catch(() => undefined);
    await loop.close(life.signal);
    await this.#whenGone((left) => left.size === 0);
    await cgroups.removeAll({ includingRoot: true });
  }

  async shutDown(): Promise<void> {
    const { loop, host, life, shutdown, atShutdown } = this.#parts;
    const pods = loop.activePods();
    await shutdown.shutDown(atShutdown);
    const isReported = ({ metadata: { uid } }: Pod): boolean => {
      const now = loop.index.podByUid.get(uid);
      return !now || isStaticPod(now) || isTerminal(now.status?.phase);
    };
    for (let waitedMs = 0; waitedMs < REPORT_MS && !pods.every(isReported); waitedMs += REPORT_CHECK_MS) {
      await host.clock.sleep(REPORT_CHECK_MS, life.signal).catch(() => undefined);
    }
  }

  async #firstRelist(signal: AbortSignal): Promise<void> {
    const { observed, health, host, log } = this.#parts;
    for (let delayMs = FIRST_RETRY_MS; !signal.aborted; delayMs = Math.min(delayMs * 2, LAST_RETRY_MS)) {
      try {
        await observed.relist(signal);
        return health.recordSuccess();
      } catch (error) {
        health.recordFailure(error);
        if (!signal.aborted) log.error('cannot list the pods of the runtime, will retry', { error });
        await host.clock.sleep(delayMs, signal).catch(() => undefined);
      }
    }
  }

  /** Resolves as soon as `done` accepts the remaining workers, which may be at once. */
  #whenGone(done: (workers: ReadonlyMap<string, unknown>) => boolean): Promise<void> {
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

function unhandledText(error: string | undefined): string | undefined {
  return error === undefined ? undefined : `unhandled error in ${error}`;
}
