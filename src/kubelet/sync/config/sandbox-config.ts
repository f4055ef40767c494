import type { Container, Pod } from '../../../api/generated/core-v1.ts';
import {
  type DNSConfig,
  PodSandboxConfig,
  PortMapping,
  Protocol,
  type UserNamespace,
} from '../../../cri/generated/runtime-v1.ts';
import { podLogDirectory } from '../../pod/pod-paths.ts';
import { type CgroupSettings, podCgroupPath } from '../../resources/cgroup-names.ts';
import { overheadResources, type ResourceSettings, sandboxResources } from '../../resources/container-resources.ts';
import type { HostFacts } from '../../resources/host-facts.ts';
import { sandboxLabels } from './annotations.ts';
import { kernelHostname } from './hostname.ts';
import { sandboxSecurityContext } from './security-context.ts';
import { dottedSysctl } from './sysctl-name.ts';

/** Node settings that affect sandboxes. */
export interface SandboxSettings extends CgroupSettings, ResourceSettings {
  readonly podLogsDir: string;
  readonly clusterDomain: string;
}

export interface SandboxConfigInput {
  readonly pod: Pod;
  /** Number of earlier sandboxes of the pod. */
  readonly attempt: number;
  /** From `podDns`. */
  readonly dns: DNSConfig;
  /** From `UserNamespaces.namespaceFor`; absent: the host's. */
  readonly userNamespace?: UserNamespace | undefined;
  /** Of its persistent volumes, from `PodVolumes.extraGroups`. */
  readonly extraGroups: readonly number[];
  /** Absent: no container has any. */
  readonly hasExclusiveCpus?: boolean | undefined;
  readonly settings: SandboxSettings;
  readonly host: HostFacts;
}

/** The CRI configuration of a sandbox. Throws kubelet's message for an invalid pod. */
export function sandboxConfig(input: SandboxConfigInput): PodSandboxConfig {
  const { pod, attempt, dns, userNamespace, extraGroups, hasExclusiveCpus, settings, host } = input;
  const { name, namespace, uid, annotations } = pod.metadata;
  return PodSandboxConfig.fromPartial({
    metadata: { name, namespace, uid, attempt },
    hostname: pod.spec.hostNetwork ? '' : kernelHostname(pod, settings.clusterDomain),
    logDirectory: podLogDirectory(settings.podLogsDir, pod),
    dnsConfig: dns,
    portMappings: pod.spec.containers.flatMap(portMappings),
    labels: sandboxLabels(pod),
    annotations: { ...annotations },
    linux: {
      cgroupParent: podCgroupPath(pod, settings),
      securityContext: sandboxSecurityContext(pod, userNamespace, extraGroups),
      sysctls: sysctls(pod),
      overhead: overheadResources(pod, settings, host),
      resources: sandboxResources(pod, settings, host, { hasExclusiveCpus }),
    },
  });
}

/** All ports, also those without a host port. Duplicate names and mappings of a container are mapped once. */
function portMappings({ ports = [] }: Container): PortMapping[] {
  const mappings = new Map<string, PortMapping>();
  for (const { name, protocol = 'TCP', containerPort, hostPort = 0, hostIP = '' } of ports) {
    const key = name || `${protocol}-${hostIP}:${containerPort}:${hostPort}`;
    const mapping = { protocol: protocolNumber(protocol), containerPort, hostPort, hostIp: hostIP };
    if (!mappings.has(key)) mappings.set(key, PortMapping.fromPartial(mapping));
  }
  return [...mappings.values()];
}

function protocolNumber(protocol: string): Protocol {
  return protocol === 'UDP' || protocol === 'SCTP' ? Protocol[protocol] : Protocol.TCP;
}

/** Runtimes accept only dotted sysctl names. */
function sysctls({ spec }: Pod): Record<string, string> {
  return Object.fromEntries(
    (spec.securityContext?.sysctls ?? []).map(({ name, value }) => [dottedSysctl(name), value]),
  );
}
