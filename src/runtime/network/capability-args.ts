import { errorText } from '../../base/error-text.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { type PortMapping, Protocol } from '../../cri/generated/runtime-v1.ts';
import type { JsonObject } from './json-object.ts';
import { hasCapability, type PluginConfig } from './network-config.ts';
import type { NetworkedPod } from './pod-network.ts';

const MAX_BURST = 0xffff_ffff;
const MIN_RATE = 1_000n;
const MAX_RATE = 1_000_000_000_000_000n;

/** Returns the values of CNI capabilities for a pod. Each is present only if the pod has it. */
export function capabilityArgs(pod: NetworkedPod, podCidr: string | undefined): JsonObject {
  const portMappings = pod.portMappings.filter(({ hostPort }) => hostPort > 0).map(portMapping);
  const bandwidth = parseBandwidth(pod.annotations);
  const { servers, searches, options } = pod.dns;
  return {
    'io.kubernetes.cri.pod-annotations': pod.annotations,
    ...(portMappings.length > 0 ? { portMappings } : {}),
    ...(bandwidth ? { bandwidth } : {}),
    ...(servers.length + searches.length + options.length > 0 ? { dns: { servers, searches, options } } : {}),
    ...(pod.cgroupParent === '' ? {} : { cgroupPath: pod.cgroupParent }),
    ...(podCidr === undefined ? {} : { ipRanges: ipRanges(podCidr) }),
  };
}

/**
 * Returns `undefined` if the plugin declares no capability that the pod has: then it gets no `runtimeConfig` at all.
 */
export function buildRuntimeConfig(plugin: PluginConfig, args: JsonObject): JsonObject | undefined {
  const declared = Object.entries(args).filter(([capability]) => hasCapability(plugin, capability));
  return declared.length > 0 ? Object.fromEntries(declared) : undefined;
}

/** The field names are those of portmap. */
function portMapping({ hostPort, containerPort, protocol, hostIp }: PortMapping): JsonObject {
  return { hostPort, containerPort, protocol: protocolName(protocol), ...(hostIp === '' ? {} : { hostIP: hostIp }) };
}

function protocolName(protocol: Protocol): string {
  if (protocol === Protocol.UDP) return 'udp';
  return protocol === Protocol.SCTP ? 'sctp' : 'tcp';
}

function parseBandwidth(annotations: Readonly<Record<string, string>>): JsonObject | undefined {
  const ingressRate = parseRate(annotations, 'kubernetes.io/ingress-bandwidth');
  const egressRate = parseRate(annotations, 'kubernetes.io/egress-bandwidth');
  if (ingressRate === undefined && egressRate === undefined) return undefined;
  return {
    ...(ingressRate === undefined ? {} : { ingressRate, ingressBurst: MAX_BURST }),
    ...(egressRate === undefined ? {} : { egressRate, egressBurst: MAX_BURST }),
  };
}

/** Returns bits per second. The limits and messages are those of Kubernetes. */
function parseRate(annotations: Readonly<Record<string, string>>, name: string): number | undefined {
  const text = annotations[name];
  if (text === undefined) return undefined;
  try {
    const bits = parseQuantity(text).value();
    if (bits < MIN_RATE) throw new Error('resource is unreasonably small (< 1kbit)');
    if (bits > MAX_RATE) throw new Error('resource is unreasonably large (> 1Pbit)');
    return Number(bits);
  } catch (error) {
    throw new Error(`reading pod bandwidth annotations: ${name}: ${errorText(error)}`, { cause: error });
  }
}

/** One set of ranges for each IP family: a pod gets an address of each set. */
function ipRanges(podCidr: string): JsonObject[][] {
  return podCidr
    .split(',')
    .map((cidr) => cidr.trim())
    .filter((cidr) => cidr !== '')
    .map((subnet) => [{ subnet }]);
}
