import type { Pod } from '../api/generated/core-v1.ts';
import { admitPod, type Verdict } from '../kubelet/admission/admit-pod.ts';
import { LogLinks } from '../kubelet/containers/log-links.ts';
import { PullBackoff } from '../kubelet/images/pull-backoff.ts';
import { SharedPulls } from '../kubelet/images/shared-pulls.ts';
import { RuntimeHealth } from '../kubelet/observe/runtime-health.ts';
import { watchRuntime } from '../kubelet/observe/watch-runtime.ts';
import { kernelAtLeast } from '../kubelet/resources/host-facts.ts';
import { PodCgroups } from '../kubelet/resources/pod-cgroups.ts';
import type { PodVerdict } from '../kubelet/status/pod-status-view.ts';
import { CrashBackoff } from '../kubelet/sync/crash-backoff.ts';
import { createPodSyncer } from '../kubelet/sync/create-pod-syncer.ts';
import type { PodStatusPublisher } from '../kubelet/sync/pod-status-publisher.ts';
import type { PodStep } from '../kubelet/sync/pod-step.ts';
import type { StartDeps } from '../kubelet/sync/start-container.ts';
import { SyncLoop } from '../kubelet/sync-loop.ts';
import { PodDirectories } from '../kubelet/volumes/pod-directories.ts';
import { PodVolumes } from '../kubelet/volumes/pod-volumes.ts';
import type { PodWorker } from '../kubelet/workers/pod-worker.ts';
import { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { Agent, AgentParts } from './agent.ts';
import { type AgentFacts, learnFacts } from './agent-facts.ts';
import { AgentReports } from './agent-reports.ts';
import { createSenses } from './agent-senses.ts';
import { createClusterWriters } from './cluster-writers.ts';
import { containerInputs } from './container-inputs.ts';
import { leftoverPods } from './leftover-pods.ts';
import { RunningAgent } from './running-agent.ts';

/** The only function that knows every part. It asks the runtime for its name and starts nothing. */
export async function buildAgent(parts: AgentParts, signal: AbortSignal): Promise<Agent> {
  const { host, cri, log, settings } = parts;
  const { clock, random } = host;
  const life = new AbortController();
  const facts = await learnFacts(parts, signal);
  const senses = createSenses(parts, facts.runtimeName, life.signal, {
    seen: (uid) => lookUp(uid, workers, senses.publisher),
    probed: (uid) => workers.wake(uid),
  });
  const { observed, publisher } = senses;
  const around = aroundContainers(parts, facts);
  const pulls = { pulls: new SharedPulls<never>(settings), backoff: new PullBackoff(clock) };
  const syncer = createPodSyncer({
    ...host,
    ...senses,
    ...facts,
    runtime: cri.runtime,
    settings,
    backoff: new CrashBackoff(settings.maxContainerRestartPeriodMs),
    steps: around.steps,
    started: around.started,
    ...containerInputs({ ...host, ...senses, ...pulls, images: cri.images, settings, volumes: around.volumes }),
  });
  const cluster = createClusterWriters(parts, { ...senses, loop: () => loop, workers: () => workers });
  const onPhase = ({ pod }: PodWorker): void => cluster.podChanged(pod);
  const onGone = (pod: Pod): void => {
    pulls.backoff.forget(pod.metadata.uid);
    reports.gone(pod);
    cluster.podChanged(pod);
  };
  const { syncFrequencyMs } = settings;
  const workers = new PodWorkers({ clock, random, syncer, log, syncFrequencyMs, onPhase, onGone }, life.signal);
  const loop = new SyncLoop({
    sources: parts.sources,
    workers,
    observed,
    clock,
    log,
    admit: (pod, otherPods) => refusalOf(admitPod(pod, { ...facts.node, otherPods })),
    refuse: (pod, verdict) => publisher.publish(pod, 'terminated', verdict),
    forget: (pod) => {
      publisher.forget(pod.metadata.uid);
      cluster.podChanged(pod);
    },
    leftovers: () => leftoverPods({ observed, ...around }),
    onProblems: ({ name }, problems) => reports.problems(name, problems),
    onChanges: (changes) => {
      cluster.sourceSpoke();
      for (const { pod } of changes) cluster.podChanged(pod);
    },
  });
  const reports = new AgentReports({ ...senses, workers, refused: () => loop.refused });
  const health = new RuntimeHealth(clock);
  const watch = async (until: AbortSignal): Promise<void> => {
    const watching = watchRuntime({ observed, health, events: parts.runtimeEvents, clock, log }, until);
    await Promise.all([watching, cluster.run(until)]);
  };
  return new RunningAgent({
    ...parts,
    ...senses,
    life,
    loop,
    workers,
    reports,
    watch,
    health,
    cgroups: around.cgroups,
  });
}

/** A worker that stops containers looks up only when all have stopped; what is seen of each is shown at once. */
function lookUp(uid: string, workers: PodWorkers, publisher: PodStatusPublisher): void {
  const worker = workers.all.get(uid);
  if (worker?.state.phase === 'terminating') publisher.publish(worker.pod, 'terminating', worker.state.verdict);
  worker?.wake();
}

/** What pods have around their containers, in the order in which a starting pod goes through it. */
function aroundContainers({ host, settings, log }: AgentParts, { hostFacts }: AgentFacts) {
  const directories = new PodDirectories({ fs: host.fs, settings });
  const cgroups = new PodCgroups({ cgroups: host.cgroups, processes: host.processes, settings });
  const volumes = new PodVolumes({ ...host, settings, tmpfsNoswap: kernelAtLeast(hostFacts.kernel, 6, 4) });
  const links = new LogLinks({ fs: host.fs, settings });
  const linking = settings.containerLogsDir === undefined ? [] : [links];
  const steps: readonly PodStep[] = [directories, ...linking, cgroups, volumes];
  const started: StartDeps['started'] = (...container) =>
    links.add(...container).catch((error: unknown) => log.warn('cannot link the log of a container', { error }));
  return { directories, cgroups, volumes, steps, started };
}

function refusalOf(verdict: Verdict): PodVerdict | undefined {
  if (verdict.kind === 'admit') return undefined;
  return { phase: 'Failed', reason: verdict.reason, message: verdict.message };
}
