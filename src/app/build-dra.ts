import type { Part } from '../base/supervise.ts';
import { withApiTimeouts } from '../kubelet/api-client/api-timeouts.ts';
import { ClaimCache } from '../kubelet/dra/claim-cache.ts';
import { claimsStep } from '../kubelet/dra/claims-step.ts';
import { ContainerResources } from '../kubelet/dra/container-resources.ts';
import type { DeviceHealth } from '../kubelet/dra/device-health.ts';
import { DeviceHealthStates } from '../kubelet/dra/device-health-states.ts';
import { DraManager } from '../kubelet/dra/dra-manager.ts';
import { ResourceSliceCleanup } from '../kubelet/dra/resource-slice-cleanup.ts';
import { EndedPods, type KnownPods } from '../kubelet/dra/unprepare-ended-pods.ts';
import type { Timeline } from '../kubelet/events/timeline.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import { currentSandbox } from '../kubelet/pod/observed-pod.ts';
import type { PodStep } from '../kubelet/pod/pod-step.ts';
import { DraRegistration } from '../plugins/dra/dra-registration.ts';
import type { PluginHandler } from '../plugins/registration/plugin-handler.ts';
import type { AgentParts } from './agent.ts';
import type { ClusterNode } from './build-node.ts';
import type { RunOptionsOf } from './build-resource-managers.ts';
import type { PodSignals } from './pod-signals.ts';

/** Dynamic resource allocation: claims of pods, and the drivers that prepare them. */
export interface AgentDra {
  readonly handler: PluginHandler;
  readonly step: PodStep;
  readonly runOptions: RunOptionsOf;
  readonly containers: Pick<ContainerResources, 'claims' | 'resourceHealth'>;
  /** Claims of the pod may be prepared: its end must not be reported yet. */
  mightNeedUnprepare(podUid: string): boolean;
  /** What runs beside the pods. */
  parts(pods: KnownPods): readonly Part[];
  /** A source has reported its pods. */
  onSourceReported(): void;
  /** The drivers of each claim that pods on this node use. */
  claimDrivers(): readonly (readonly string[])[];
}

export interface DraBuildDeps {
  readonly signals: PodSignals;
  readonly timeline: Timeline;
  readonly observed: ObservedPods;
  readonly node: Pick<ClusterNode, 'current'>;
}

/**
 * Rejects when the checkpoint of an earlier process cannot be read. `undefined` without an API server, which has the
 * claims.
 */
export async function buildDra(
  agent: AgentParts,
  { signals, timeline, observed, node }: DraBuildDeps,
  life: AbortSignal,
): Promise<AgentDra | undefined> {
  const { apiServer, host, log, settings } = agent;
  if (!apiServer) return undefined;
  const { clock, random, fs } = host;
  const { nodeName, rootDir, dra: gates = DEFAULT_DRA_GATES } = settings;
  const api = withApiTimeouts(apiServer, { clock, random });
  const cache = await ClaimCache.read(rootDir, fs);
  const wake = (uids: Iterable<string>): void => {
    for (const uid of uids) signals.podObjectChanged.raise(uid);
  };
  const onChanged = (driver: string, devices: readonly DeviceHealth[]): void => wake(usersOf(cache, driver, devices));
  const health = gates.health ? await DeviceHealthStates.read(rootDir, { fs, clock, log, onChanged }, life) : undefined;
  const hasNode = (): boolean => node.current() !== undefined;
  const slices = new ResourceSliceCleanup({ api, nodeName, hasNode, clock, random, log }, life);
  const onUsable = (driver: string, isUsable: boolean): void => slices.setUsable(driver, isUsable);
  const registration = new DraRegistration({ clock, log, health, onUsable });
  const drivers = agent.draDrivers ?? registration;
  const manager = new DraManager({ api, drivers, cache, gates, clock });
  const ended = new EndedPods({ manager, cache, clock, log });
  drivers.subscribe((driver) => {
    wake(manager.takeWaiting(driver));
    ended.retry();
  });
  const containers = new ContainerResources({ cache, gates, health });
  return {
    handler: registration,
    step: claimsStep({
      manager,
      timeline,
      hasSandbox: (uid) => currentSandbox(observed.get(uid))?.ready ?? false,
      onUnprepared: (pod) => signals.podChanged.raise(pod),
    }),
    runOptions: async (pod, container) => containers.runOptions(pod, container),
    containers,
    mightNeedUnprepare: (uid) => manager.mightNeedUnprepare(uid),
    parts: (pods) => [
      { name: 'resource claims', run: (signal) => ended.run(pods, signal), isEndless: true },
      ...(agent.node ? [{ name: 'resource slices', run: (signal: AbortSignal) => slices.wipeAll(signal) }] : []),
    ],
    onSourceReported: () => ended.retry(),
    claimDrivers: () => cache.all.map(({ devices }) => [...devices.keys()]),
  };
}

/** The feature gates of v1.36. */
const DEFAULT_DRA_GATES = { extendedResources: true, health: true, healthMessages: true };

/** The pods that use one of these devices. */
function usersOf(cache: ClaimCache, driver: string, changed: readonly DeviceHealth[]): ReadonlySet<string> {
  const uses = cache.all.filter(({ devices }) =>
    (devices.get(driver) ?? []).some(({ poolName, deviceName }) =>
      changed.some((device) => device.poolName === poolName && device.deviceName === deviceName),
    ),
  );
  return new Set(uses.flatMap(({ podUids }) => [...podUids]));
}
