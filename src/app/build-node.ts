import type { Node } from '../api/generated/core-v1.ts';
import { withApiTimeouts } from '../kubelet/api-client/api-timeouts.ts';
import type { NodePressure } from '../kubelet/eviction/node-pressure.ts';
import { NodeAttachments } from '../kubelet/node/attachments/node-attachments.ts';
import { enforceAllocatable } from '../kubelet/node/lifecycle/enforce-allocatable.ts';
import { createNodeManager, type NodeDevices } from '../kubelet/node/lifecycle/node-manager.ts';
import { NodeCache } from '../kubelet/node/node-cache.ts';
import type { NodeEvents } from '../kubelet/node/node-event.ts';
import { NodeGatherer } from '../kubelet/node/status/gather-node.ts';
import { RuntimeReadiness } from '../kubelet/node/status/runtime-readiness.ts';
import { STORAGE_READY, type StorageReadiness } from '../kubelet/node/storage-readiness.ts';
import type { RuntimeHealth } from '../kubelet/pleg/runtime-health.ts';
import type { NodeShutdown } from '../kubelet/shutdown/node-shutdown.ts';
import { ALWAYS_ATTACHED, type AttachedVolumes } from '../kubelet/volumes/attached-volumes.ts';
import { noCsi } from '../kubelet/volumes/csi/csi-deps.ts';
import { csiPlugin } from '../kubelet/volumes/csi/csi-plugin.ts';
import { nodeVolumesOnDisk } from '../kubelet/volumes/release-volumes.ts';
import { VOLUME_PLUGINS } from '../kubelet/volumes/volume-plugins.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';
import { cgroupsOfDriver } from './cgroup-driver.ts';

const CGROUP_V1 =
  'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1';

const SWAPPED_VOLUMES =
  'The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.';

export interface NodeBuildDeps {
  readonly health: Pick<RuntimeHealth, 'subscribe'>;
  readonly events: NodeEvents;
  /** Absent: the node has no devices. */
  readonly devices?: NodeDevices | undefined;
  /** Absent: there is no storage to prepare. */
  readonly storage?: StorageReadiness | undefined;
  /** `undefined`: the agent does not maintain a node object. */
  readonly pressure: NodePressure | undefined;
  /** Absent: shutdowns of the machine are not observed. */
  readonly shutdown?: Pick<NodeShutdown, 'notReadyReason' | 'subscribe'>;
}

/** The node object of this machine. */
export interface ClusterNode {
  /** Registers the node and updates its status and lease until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** The latest version that the API server reported; `undefined` before the first one. */
  current(): Node | undefined;
  /** Resolves with the first answer of the API server, also when it has no such node. */
  readonly known: Promise<void>;
  /** Gets the node object ahead of the watch. Keeps the current one when the API server does not answer. */
  refresh(signal: AbortSignal): Promise<void>;
  readonly attachedVolumes: AttachedVolumes;
}

/** Without an API server, or without node settings, the agent does not maintain a node object. */
const NO_NODE: ClusterNode = {
  run: async () => undefined,
  current: () => undefined,
  known: Promise.resolve(),
  refresh: async () => undefined,
  attachedVolumes: ALWAYS_ATTACHED,
};

export function buildNode(
  agent: AgentParts,
  facts: AgentFacts,
  { health, events, devices, storage = STORAGE_READY, pressure, shutdown }: NodeBuildDeps,
): ClusterNode {
  const { apiServer, node: settings, host, cri, log } = agent;
  if (!apiServer || !settings || !pressure) return NO_NODE;
  const { clock, random, fs, network, addresses } = host;
  const api = withApiTimeouts(agent.nodeApiServer ?? apiServer, { clock, random });
  const readiness = new RuntimeReadiness({ runtime: cri.runtime, clock, log });
  const size = { cpuCount: facts.hostFacts.cpuCount, memoryBytes: agent.settings.memoryCapacityBytes };
  const { images } = cri;
  const gatherer = new NodeGatherer(settings, size, {
    fs,
    images,
    pressure,
    readiness,
    storage,
    deviceCounts: devices && (() => devices.counts()),
    ...(shutdown && { shutdown }),
    addresses,
    network,
    clock,
  });
  const cache = agent.ownNode ?? new NodeCache(settings.nodeName);
  const findOnDisk = async (): Promise<readonly string[]> =>
    (await nodeVolumesOnDisk(agent.settings.rootDir, { fs, plugins: [...VOLUME_PLUGINS, csiPlugin(noCsi())] })).map(
      ({ id }) => id,
    );
  const attachments = new NodeAttachments({ cache, findOnDisk, log });
  let isRestart = false;
  const keeper = createNodeManager(settings, {
    api,
    gatherer,
    readiness,
    storage,
    devices,
    pressure,
    ...(shutdown && { shutdown }),
    attachments,
    events,
    clock,
    random,
    log,
    cache,
  });
  const recordStart = (): void => {
    events.record('Normal', 'Starting', 'Starting kubelet.');
    if (facts.hostFacts.cgroupVersion === 'v1') events.record('Warning', 'CgroupV1', CGROUP_V1);
    for (const { type, reason, message } of agent.startEvents ?? []) events.record(type, reason, message);
    const { isOn, tmpfsNoswap } = facts.swap;
    if (isOn && !tmpfsNoswap) events.record('Warning', 'PossibleMemoryBackedVolumesOnDisk', SWAPPED_VOLUMES);
  };
  return {
    current: () => keeper.current(),
    known: keeper.synced,
    refresh: (signal) => keeper.refresh(signal),
    attachedVolumes: attachments,
    async run(signal) {
      const recheck = (): void => readiness.checkSoon();
      const subscriptions = [health.subscribe(recheck), agent.onNetworkChange?.(recheck)];
      if (!isRestart) recordStart();
      isRestart = true;
      try {
        await keeper.run(signal);
      } finally {
        for (const unsubscribe of subscriptions) unsubscribe?.();
      }
    },
  };
}

/** Limits the cgroup of all pods to the node's allocatable resources. A standalone agent sets no limit. */
export function buildAllocatableEnforcement(
  { node, host, settings }: AgentParts,
  { machine }: AgentFacts,
  events: NodeEvents,
): { run(signal: AbortSignal): Promise<void> } {
  const { fs, clock } = host;
  const cgroups = cgroupsOfDriver(settings, host);
  return {
    run: async (signal) => {
      if (node) await enforceAllocatable(node, machine, { cgroups, fs, clock, events }, signal);
    },
  };
}
