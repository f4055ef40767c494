import { goArchitecture } from '../base/go/go-architecture.ts';
import type { Declaration } from '../base/metrics/declaration.ts';
import { MetricRegistry } from '../base/metrics/metric-registry.ts';
import { observeApiClient } from '../kubelet/metrics/api-client-metrics.ts';
import { observeCertificates, type RotatedCertificates } from '../kubelet/metrics/certificate-metrics.ts';
import { CONTAINER_LOG_DECLARATIONS, containerLogMetrics } from '../kubelet/metrics/container-log-metrics.ts';
import { CLAIM_DECLARATIONS, claimMetrics, observeDra } from '../kubelet/metrics/dra-metrics.ts';
import { ENGINE_DECLARATIONS, engineMetrics, observePauses } from '../kubelet/metrics/engine-metrics.ts';
import { observeEvictions } from '../kubelet/metrics/eviction-metrics.ts';
import { observeHealth } from '../kubelet/metrics/health-metrics.ts';
import { observeCgroups, observeHooks } from '../kubelet/metrics/host-metrics.ts';
import { observeImages } from '../kubelet/metrics/image-metrics.ts';
import { type FeatureState, NODE_DECLARATIONS, nodeMetrics } from '../kubelet/metrics/node-metrics.ts';
import { observeNodeStartup } from '../kubelet/metrics/node-startup-metrics.ts';
import { observePleg } from '../kubelet/metrics/pleg-metrics.ts';
import { observePlugins } from '../kubelet/metrics/plugin-metrics.ts';
import { POD_COUNT_DECLARATIONS, podCountMetrics } from '../kubelet/metrics/pod-count-metrics.ts';
import { observePodStarts } from '../kubelet/metrics/pod-start-metrics.ts';
import { observePodWorkers } from '../kubelet/metrics/pod-worker-metrics.ts';
import { observeProbes } from '../kubelet/metrics/probe-metrics.ts';
import { PULL_RECORD_DECLARATIONS, pullRecordMetrics } from '../kubelet/metrics/pull-record-metrics.ts';
import { observeRejections } from '../kubelet/metrics/rejection-metrics.ts';
import { CPU_DECLARATIONS, cpuMetrics, observePlacements } from '../kubelet/metrics/resource-manager-metrics.ts';
import { observeRuntime } from '../kubelet/metrics/runtime-metrics.ts';
import { observeStarts } from '../kubelet/metrics/start-metrics.ts';
import { observeStatuses } from '../kubelet/metrics/status-metrics.ts';
import { observeVolumes, VOLUME_DECLARATIONS, volumeCountMetrics } from '../kubelet/metrics/volume-metrics.ts';
import { KUBERNETES_VERSION } from '../kubelet/node/status/kubernetes-version.ts';
import { memoryQosMetrics } from '../kubelet/server/memory-qos-metrics.ts';
import { nodeGuardMetrics } from '../kubelet/server/node-guard-metrics.ts';
import { podCertificateMetrics } from '../kubelet/server/pod-certificate-metrics.ts';
import { bootTimeMs, processMetrics, processStart } from '../kubelet/server/process-metrics.ts';
import { RequestMetrics } from '../kubelet/server/request-metrics.ts';
import type { ServedMetrics } from '../kubelet/server/served-metrics.ts';
import { startStepMetrics } from '../kubelet/server/start-step-metrics.ts';
import { unhandledErrorMetrics } from '../kubelet/server/unhandled-error-metrics.ts';
import { volumeStatsMetrics } from '../kubelet/server/volume-stats-metrics.ts';
import type { Agent } from './agent.ts';
import type { AgentProcess } from './agent-process.ts';
import { reservationPolicy } from './agent-settings.ts';
import { resolveFeatureGates } from './config/feature-gates.ts';
import { FEATURE_GATES } from './config/generated/feature-gates.ts';
import type { KubeletSettings } from './config/load-config.ts';

/** The metrics of one agent. */
export interface KubeletMetrics extends ServedMetrics {
  /** Shows the state of the agent, and measures the starts of its pods. */
  follow(agent: Agent): void;
  /** All metrics of the three endpoints that are declared. */
  readonly declared: readonly Declaration[];
  /** Ends all subscriptions. */
  close(): void;
}

export type MetricSettings = Pick<KubeletSettings, 'nodeName' | 'featureGates' | 'config'>;

/** Declares the metrics and subscribes to what they count, before anything of the agent runs. */
export function buildMetrics(
  settings: MetricSettings,
  process: Pick<AgentProcess, 'host' | 'unhandled'>,
): KubeletMetrics {
  const { clock, fs } = process.host;
  const options = { version: KUBERNETES_VERSION, showHiddenFor: settings.config.showHiddenMetricsForVersion };
  const main = new MetricRegistry(options);
  const probes = new MetricRegistry(options);
  const slis = new MetricRegistry(options);
  const subscriptions = [...observeParts(main, settings, process), observeProbes(probes), observeHealth(slis)];
  addSources(main, settings, process);
  for (const registry of [probes, slis]) registry.source(() => processStart(fs));
  return {
    main,
    probes,
    slis,
    requests: new RequestMetrics(main, clock),
    get declared() {
      return [main, probes, slis].flatMap((registry) => registry.declared);
    },
    follow: (agent) => subscriptions.push(...followAgent(main, settings, process, agent)),
    close() {
      for (const unsubscribe of subscriptions.splice(0)) unsubscribe();
    },
  };
}

function observeParts(
  main: MetricRegistry,
  { config }: MetricSettings,
  { host: { clock, fs, javaScriptEngine } }: Pick<AgentProcess, 'host'>,
): (() => void)[] {
  return [
    observeRuntime(main, clock),
    observePleg(main, clock),
    observePodWorkers(main),
    observeStarts(main),
    observeRejections(main),
    observeImages(main),
    observeEvictions(main),
    observeApiClient(main),
    observePlugins(main),
    observeDra(main),
    observePlacements(main),
    observeVolumes(main),
    observeCgroups(main),
    observeHooks(main),
    observeCertificates(main, rotatedCertificates(config), clock),
    observePauses(main, javaScriptEngine),
    observeNodeStartup(main, { clock, bootMs: () => bootTimeMs(fs) }),
  ];
}

function rotatedCertificates({
  rotateCertificates,
  serverTLSBootstrap,
}: MetricSettings['config']): RotatedCertificates {
  return { client: rotateCertificates ?? false, server: serverTLSBootstrap ?? false };
}

function addSources(
  main: MetricRegistry,
  { nodeName, config }: MetricSettings,
  { host: { fs, cgroups, javaScriptEngine }, unhandled }: Pick<AgentProcess, 'host' | 'unhandled'>,
): void {
  const facts = {
    nodeName,
    kubernetesVersion: KUBERNETES_VERSION,
    platform: `linux/${goArchitecture()}`,
    cgroupVersion: cgroups.version,
    features: featureStates(resolveFeatureGates(config.featureGates ?? {}).gates),
  };
  main.source(() => nodeMetrics(facts), NODE_DECLARATIONS);
  main.source(() => processMetrics(fs));
  main.source(() => engineMetrics(javaScriptEngine), ENGINE_DECLARATIONS);
  main.source(() => unhandledErrorMetrics(unhandled));
  main.addCounts();
}

function followAgent(
  main: MetricRegistry,
  { featureGates, config }: MetricSettings,
  { host: { clock, cgroups } }: Pick<AgentProcess, 'host'>,
  agent: Agent,
): readonly (() => void)[] {
  const policy = featureGates.get('MemoryQoS') ? reservationPolicy(config) : undefined;
  const memoryReservation = policy && cgroups.version === 'v1' ? 'None' : policy;
  const { readings } = agent;
  main.source(() => podCountMetrics(agent, readings.mirrorPods()), POD_COUNT_DECLARATIONS);
  main.source(() => cpuMetrics(readings.cpuUsage()), CPU_DECLARATIONS);
  main.source(async () => pullRecordMetrics(await readings.pullRecords()), PULL_RECORD_DECLARATIONS);
  main.source(() => claimMetrics(readings.claimDrivers()), CLAIM_DECLARATIONS);
  main.source(() => volumeCountMetrics(readings.volumes()), VOLUME_DECLARATIONS);
  main.source(() => memoryQosMetrics(agent, memoryReservation));
  main.source(() => podCertificateMetrics(agent));
  main.source(() => volumeStatsMetrics(agent.stats));
  main.source(() => startStepMetrics(agent));
  const showsShutdown =
    (featureGates.get('GracefulNodeShutdown') ?? true) &&
    (featureGates.get('GracefulNodeShutdownBasedOnPodPriority') ?? true);
  main.source(() => nodeGuardMetrics(agent, showsShutdown));
  main.source(() => containerLogMetrics(agent.stats, clock), CONTAINER_LOG_DECLARATIONS);
  return [
    observePodStarts(main, { clock, observed: (uid) => readings.observed(uid) }),
    observeStatuses(main, {
      clock,
      subscribe: (listener) => agent.subscribe((event) => event.kind === 'status' && listener(event)),
    }),
  ];
}

function featureStates(gates: ReadonlyMap<string, boolean>): readonly FeatureState[] {
  return [...gates].map(([name, isEnabled]) => {
    const stage = FEATURE_GATES.get(name)?.stage ?? 'GA';
    return { name, stage: stage === 'GA' ? '' : stage, isEnabled };
  });
}
