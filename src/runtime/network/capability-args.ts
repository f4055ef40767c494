import { parseQuantity } from '../../base/quantity.ts';
import { errorText } from '../../base/error-text.ts';
import { type PortMapping, Protocol } from '../../cri/generated/runtime-v1.ts';
import type { JsonObject } from './json-object.ts';
import { declares, type PluginConfig } from './network-config.ts';
import type { NetworkedPod } from './pod-network.ts';

const MAX_BURST = 0xffff_ffff;
const LEAST_RATE = 1_000n;
const MOST_RATE = 1_000_000_000_000_000n;

/** What a plugin gets of a pod when it declares the capability, by CNI's names. Each is there only if the pod has it. */
export function capabilityArgs(pod: NetworkedPod, podCidr: string | undefined): JsonObject {
  const portMappings = pod.portMappings.filter(({ hostPort }) => hostPort > 0).map(portMapping);
  const bandwidth = bandwidthOf(pod.annotations);
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

/** `undefined` when the plugin declares nothing that the pod has: then it gets no `runtimeConfig` at all. */
export function runtimeConfigOf(plugin: PluginConfig, args: JsonObject): JsonObject | undefined {
  const declared = Object.entries(args).filter(([capability]) => declares(plugin, capability));
  return declared.length > 0 ? Object.fromEntries(declared) : undefined;
}

/** The names are those of portmap. */
function portMapping({ hostPort, containerPort, protocol, hostIp }: PortMapping): JsonObject {
  return { hostPort, containerPort, protocol: protocolName(protocol), ...(hostIp === '' ? {} : { hostIP: hostIp }) };
}

function protocolName(protocol: Protocol): string {
  if (protocol === Protocol.UDP) return 'udp';
  return protocol === Protocol.SCTP ? 'sctp' : 'tcp';
}

function bandwidthOf(annotations: Readonly<Record<string, string>>): JsonObject | undefined {
  const ingressRate = rate(annotations, 'kubernetes.io/ingress-bandwidth');
  const egressRate = rate(annotations, 'kubernetes.io/egress-bandwidth');
  if (ingressRate === undefined && egressRate === undefined) return undefined;
  return {
    ...(ingressRate === undefined ? {} : { ingressRate, ingressBurst: MAX_BURST }),
    ...(egressRate === undefined ? {} : { egressRate, egressBurst: MAX_BURST }),
  };
}

/** In bits per second. What is refused, and the words, are Kubernetes'. */
function rate(annotations: Readonly<Record<string, string>>, name: string): number | undefined {
  const text = annotations[name];
  if (text === undefined) return undefined;
  try {
    const bits = parseQuantity(text).value();
    if (bits < LEAST_RATE) throw new Error('resource is unreasonably small (< 1kbit)');
    if (bits > MOST_RATE) throw new Error('resource is unreasonably large (> 1Pbit)');
    return Number(bits);
  } catch (error) {
    throw new Error(`reading pod bandwidth annotations: ${name}: ${errorText(error)}`, { cause: error });
  }
}

/** One set of ranges for each family: a pod gets an address of each set. */
function ipRanges(podCidr: string): JsonObject[][] {
  return podCidr
    .split(',')
    .map((cidr) => cidr.trim())
    .filter((cidr) => cidr !== '')
    .map((subnet) => [{ subnet }]);
}
