import { goArchitecture } from '../base/go/go-architecture.ts';
import type { CgroupDriver } from '../host/cgroups.ts';
import type { NodeSettings } from '../kubelet/node/node-settings.ts';
import { cgroupPath, kubepodsCgroup } from '../kubelet/resources/cgroup-names.ts';
import type { KubeletSettings } from './config/load-config.ts';
import { parseNodeIps } from './config/validate-flags.ts';

/** The declared features of kubelet v1.36 that are implemented here. */
const DECLARED_FEATURES = [
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
];

/** The slice of kubelet's configuration that the node object is built from. */
export function nodeSettings(
  { config, parsed, flags, nodeName, featureGates }: KubeletSettings,
  cgroupDriver: CgroupDriver,
): NodeSettings {
  const cgroups = { cgroupRoot: config.cgroupRoot || '/', cgroupDriver };
  return {
    nodeName,
    rootDir: flags.rootDir,
    architecture: goArchitecture(),
    labels: flags.nodeLabels,
    taints: config.registerWithTaints ?? [],
    isCloudExternal: flags.cloudProvider === 'external',
    providerId: config.providerID ?? '',
    registers: config.registerNode,
    controllerAttaches: config.enableControllerAttachDetach,
    nodeIps: parseNodeIps(flags.nodeIp ?? ''),
    maxPods: config.maxPods,
    podsPerCore: config.podsPerCore ?? 0,
    maxImages: config.nodeStatusMaxImages,
    systemReserved: parsed.systemReserved,
    kubeReserved: parsed.kubeReserved,
    reservedCpus: parsed.reservedCpus.length,
    thresholds: parsed.evictionThresholds,
    reservesThresholds: !flags.ignoreEvictionInAllocatable,
    enforcesPods: config.enforceNodeAllocatable.includes('pods'),
    podsCgroup: cgroupPath(kubepodsCgroup(cgroups), cgroups),
    pressureTransitionMs: parsed.ms.evictionPressureTransitionPeriod,
    evictionMaxPodGraceSeconds: config.evictionMaxPodGracePeriod ?? 0,
    separatesDisks: featureGates.get('KubeletSeparateDiskGC') ?? true,
    hasEphemeralStorage: config.localStorageCapacityIsolation,
    kubeletPort: config.port,
    statusUpdateMs: parsed.ms.nodeStatusUpdateFrequency,
    statusReportMs: parsed.ms.nodeStatusReportFrequency,
    leaseSeconds: config.nodeLeaseDurationSeconds,
    declaredFeatures: featureGates.get('NodeDeclaredFeatures')
      ? [...(featureGates.get('ExtendWebSocketsToKubelet') ? ['ExtendWebSocketsToKubelet'] : []), ...DECLARED_FEATURES]
      : undefined,
  };
}
