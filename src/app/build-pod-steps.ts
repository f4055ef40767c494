import type { Pod } from '../api/generated/core-v1.ts';
import { withRegisteredNode } from '../kubelet/admission/node-admission.ts';
import type { PodEvents } from '../kubelet/events/pod-events.ts';
import { LogLinks } from '../kubelet/logs/log-links.ts';
import { objectsStep } from '../kubelet/objects/objects-step.ts';
import type { PodStep } from '../kubelet/pod/pod-step.ts';
import { measuredCgroups } from '../kubelet/resources/measured-cgroups.ts';
import { actualPod } from '../kubelet/resources/pod-allocation.ts';
import { PodCgroups } from '../kubelet/resources/pod-cgroups.ts';
import type { ResourceRecords } from '../kubelet/resources/resource-records.ts';
import type { StartDeps } from '../kubelet/sync/start-container.ts';
import type { UserNamespaces } from '../kubelet/userns/user-namespaces.ts';
import type { CsiDeps } from '../kubelet/volumes/csi/csi-deps.ts';
import { csiPlugin } from '../kubelet/volumes/csi/csi-plugin.ts';
import { NodeVolumes } from '../kubelet/volumes/node-volumes.ts';
import { PodDirectories } from '../kubelet/volumes/pod-directories.ts';
import { PodVolumes } from '../kubelet/volumes/pod-volumes.ts';
import { nodeVolumesOnDisk } from '../kubelet/volumes/release-volumes.ts';
import { VOLUME_PLUGINS } from '../kubelet/volumes/volume-plugins.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';
import type { AgentObjects } from './build-cluster.ts';
import type { ClusterNode } from './build-node.ts';
import type { ResourceManagers } from './build-resource-managers.ts';
import { cgroupsOfDriver } from './cgroup-driver.ts';

export interface PodStepsDeps {
  readonly facts: AgentFacts;
  readonly records: ResourceRecords;
  readonly cluster: AgentObjects;
  readonly events: PodEvents;
  readonly userNamespaces: UserNamespaces;
  readonly csi: CsiDeps;
  readonly resourceManagers: ResourceManagers;
  /** Waits for the pods whose resources the pod gets. */
  readonly preemption: PodStep;
  /** Absent: pods have no resource claims. */
  readonly dra?: { readonly step: PodStep } | undefined;
  readonly node: Pick<ClusterNode, 'attachedVolumes' | 'current'>;
}

/** The resources of a pod around its containers. */
export interface PodSteps {
  readonly directories: PodDirectories;
  readonly cgroups: PodCgroups;
  readonly volumes: PodVolumes;
  /** In the order in which a starting pod prepares them; a stopped pod releases them in reverse. */
  readonly inOrder: readonly PodStep[];
  readonly onContainerStarted: StartDeps['onContainerStarted'];
}

export function buildPodSteps(
  { host, settings, log }: AgentParts,
  { facts, records, cluster, events, userNamespaces, csi, node, resourceManagers, preemption, dra }: PodStepsDeps,
): PodSteps {
  const { fs, clock, random, mounts, processes } = host;
  const { hostFacts, allocatable } = facts;
  const { objects, tokens, claims, claimsStep, trustBundles, podCertificates } = cluster;
  const directories = new PodDirectories({ fs, settings });
  const actuated = (pod: Pod): Pod => actualPod(pod, records.actuated(pod.metadata.uid));
  const cgroups = new PodCgroups({
    cgroups: measuredCgroups(cgroupsOfDriver(settings, host), clock),
    processes,
    cgroupStats: host.cgroupStats,
    settings,
    hostFacts,
    actuated,
    hasExclusiveCpus: resourceManagers.hasExclusiveCpus,
  });
  const { tmpfsNoswap } = facts.swap;
  const plugins = [...VOLUME_PLUGINS, csiPlugin(csi)];
  const volumes = new PodVolumes({
    plugins,
    fs,
    mounts,
    clock,
    random,
    processes,
    settings,
    objects,
    tokens,
    trustBundles,
    podCertificates,
    claims,
    attachedVolumes: node.attachedVolumes,
    attachLimits: cluster.attachLimits,
    nodeVolumes: new NodeVolumes(() => nodeVolumesOnDisk(settings.rootDir, { fs, plugins })),
    events,
    allocatable,
    nodeLabels: () => withRegisteredNode(facts.node, node.current()).labels,
    tmpfsNoswap,
  });
  const links = new LogLinks({ fs, settings });
  const linkSteps = settings.containerLogsDir === undefined ? [] : [links];
  return {
    directories,
    cgroups,
    volumes,
    inOrder: [
      preemption,
      ...resourceManagers.steps,
      userNamespaces,
      objectsStep(objects),
      directories,
      ...linkSteps,
      cgroups,
      records,
      ...(claimsStep ? [claimsStep] : []),
      volumes,
      ...(dra ? [dra.step] : []),
    ],
    onContainerStarted: (...container) =>
      links.add(...container).catch((error: unknown) => log.warn('cannot link the log of a container', { error })),
  };
}
