import type { ContainerPort, Pod } from '../../api/generated/core-v1.ts';
import { podRequests, type ResourceAmounts } from '../../api/pod-resources.ts';
import type { HostFacts } from '../resources/host-facts.ts';
import { appArmorTrouble } from './app-armor.ts';
import { clusterFields } from './cluster-fields.ts';
import { type FieldGates, gatedFields } from './gated-fields.ts';
import { matchesNode } from './node-affinity.ts';
import { forbiddenSysctl } from './sysctl-allowlist.ts';
import { unsupportedFields } from './unsupported-fields.ts';

/** All that admission looks at besides the pod: no clock, no I/O. */
export interface NodeView {
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly maxPods: number;
  /** What pods may use of the node. Of huge pages that are not here there are none; any other resource is not counted. */
  readonly allocatable: ResourceAmounts;
  /** Admitted before, and not ended yet. */
  readonly otherPods: readonly Pod[];
  readonly host: Pick<HostFacts, 'kernel' | 'appArmorEnabled'>;
  /** The runtime can keep an image's own groups away from a container. */
  readonly supportsSupplementalGroupsPolicy: boolean;
  /** Sysctls that pods may set though others feel it: names, or beginnings with a `*`; absent: none. */
  readonly allowedUnsafeSysctls?: readonly string[] | undefined;
  /** Absent: none, the node stands alone. */
  readonly hasApiServer?: boolean | undefined;
  /** Absent: all are off. */
  readonly gates?: FieldGates | undefined;
}

export type Verdict =
  | { readonly kind: 'admit' }
  | { readonly kind: 'reject'; readonly reason: string; readonly message: string };

type Handler = (pod: Pod, node: NodeView) => Verdict;

const ADMIT: Verdict = { kind: 'admit' };

/** May the pod run here? The first handler that says no decides; reasons and messages are kubelet's. */
export function admitPod(pod: Pod, node: NodeView): Verdict {
  for (const handler of HANDLERS) {
    const verdict = handler(pod, node);
    if (verdict.kind === 'reject') return verdict;
  }
  return ADMIT;
}

// A pod whose operating system does not fit is told so, whatever else of it is not supported.
const HANDLERS: readonly Handler[] = [
  operatingSystem,
  supportedFields,
  sysctls,
  supplementalGroups,
  resources,
  affinity,
  nodeName,
  hostPorts,
  appArmor,
];

function operatingSystem({ metadata, spec }: Pod): Verdict {
  const label = metadata.labels?.['kubernetes.io/os'];
  if (label !== undefined && label !== 'linux') {
    const message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
    return reject('PodOSSelectorNodeLabelDoesNotMatch', message);
  }
  if (spec.os && spec.os.name !== 'linux') {
    return reject('PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS");
  }
  return ADMIT;
}

function supportedFields(pod: Pod, { gates = {}, hasApiServer = false }: NodeView): Verdict {
  const unsupported = unsupportedFields(pod).map((field) => `${field} is not supported yet`);
  const unanswered = hasApiServer ? [] : clusterFields(pod);
  const lacking = unanswered.map((field) => `${field} needs an API server, and this node has none`);
  const problems = [...unsupported, ...lacking, ...gatedFields(pod, gates)];
  return problems.length === 0 ? ADMIT : reject('PodFeatureUnsupported', problems.join('; '));
}

function sysctls(pod: Pod, { host, allowedUnsafeSysctls }: NodeView): Verdict {
  const message = forbiddenSysctl(pod, host.kernel, allowedUnsafeSysctls);
  return message === undefined ? ADMIT : reject('SysctlForbidden', message);
}

function supplementalGroups({ spec }: Pod, node: NodeView): Verdict {
  const isStrict = spec.securityContext?.supplementalGroupsPolicy === 'Strict';
  if (!isStrict || node.supportsSupplementalGroupsPolicy) return ADMIT;
  const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
  return reject('SupplementalGroupsPolicyNotSupported', message);
}

/** CPUs are counted in thousandths. */
function resources(pod: Pod, { otherPods, maxPods, allocatable }: NodeView): Verdict {
  const pods = otherPods.length;
  if (pods + 1 > maxPods) return outOf('pods', 1n, BigInt(pods), BigInt(maxPods));
  const requests = podRequests(pod);
  const hugePages = [...requests.keys()].filter((name) => name.startsWith('hugepages-'));
  for (const name of ['cpu', 'memory', 'ephemeral-storage', ...hugePages]) {
    const requested = amount(requests, name);
    if (requested === 0n || !(allocatable.has(name) || hugePages.includes(name))) continue;
    const capacity = amount(allocatable, name);
    const used = otherPods.reduce((sum, other) => sum + amount(podRequests(other), name), 0n);
    if (requested > capacity - used) return outOf(name, requested, used, capacity);
  }
  return ADMIT;
}

function amount(amounts: ResourceAmounts, name: string): bigint {
  const quantity = amounts.get(name);
  if (!quantity) return 0n;
  return name === 'cpu' ? quantity.milliValue() : quantity.value();
}

function affinity(pod: Pod, node: NodeView): Verdict {
  return matchesNode(pod, node)
    ? ADMIT
    : predicate('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
}

function nodeName({ spec }: Pod, node: NodeView): Verdict {
  const fits = !spec.nodeName || spec.nodeName === node.nodeName;
  return fits ? ADMIT : predicate('NodeName', "node(s) didn't match the requested node name");
}

function hostPorts(pod: Pod, { otherPods }: NodeView): Verdict {
  const taken = otherPods.flatMap(portsOnHost);
  const isTaken = portsOnHost(pod).some((port) => taken.some((other) => conflict(port, other)));
  return isTaken ? predicate('NodePorts', "node(s) didn't have free ports for the requested pod ports") : ADMIT;
}

/** Sidecars hold their ports as long as the pod lives; other init containers do not count. */
function portsOnHost({ spec }: Pod): ContainerPort[] {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...sidecars, ...spec.containers]
    .flatMap(({ ports }) => ports ?? [])
    .filter(({ hostPort }) => hostPort !== undefined && hostPort > 0);
}

function conflict(a: ContainerPort, b: ContainerPort): boolean {
  if (a.hostPort !== b.hostPort || (a.protocol ?? 'TCP') !== (b.protocol ?? 'TCP')) return false;
  const isEverywhere = ({ hostIP }: ContainerPort) => !hostIP || hostIP === '0.0.0.0';
  return isEverywhere(a) || isEverywhere(b) || a.hostIP === b.hostIP;
}

function appArmor(pod: Pod, { host }: NodeView): Verdict {
  const trouble = appArmorTrouble(pod, host.appArmorEnabled);
  return trouble === undefined ? ADMIT : reject('AppArmor', `Cannot enforce AppArmor: ${trouble}`);
}

function outOf(resource: string, requested: bigint, used: bigint, capacity: bigint): Verdict {
  const numbers = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return reject(`OutOf${resource}`, `Node didn't have enough resource: ${resource}, ${numbers}`);
}

function predicate(name: string, description: string): Verdict {
  return reject(name, `Predicate ${name} failed: ${description}`);
}

function reject(reason: string, message: string): Verdict {
  return { kind: 'reject', reason, message };
}
