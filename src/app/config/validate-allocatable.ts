import { cpuSetError } from '../../base/cpu-set.ts';
import { errorText } from '../../base/error-text.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import type { IsOn } from './honoured-gates.ts';
import { isMemoryResource } from './node-flag-values.ts';

const FIELD = 'enforceNodeAllocatable (--enforce-node-allocatable)';
const SYSTEM = ['system-reserved', 'system-reserved-compressible'] as const;
const KUBE = ['kube-reserved', 'kube-reserved-compressible'] as const;
const ENFORCEMENTS = ['pods', ...SYSTEM, ...KUBE, 'none'];

/** Objections to what is kept from pods, and to how that is enforced. */
export function allocatableErrors(config: KubeletConfiguration, isOn: IsOn): readonly string[] {
  const messages = [
    ...exclusionErrors(config),
    ...enforcementErrors(config),
    ...reservedCpuErrors(config),
    ...reservedMemoryErrors(config),
  ].map((message) => `invalid configuration: ${message}`);
  return [...messages, ...reservationErrors(config), ...(isOn('QOSReserved') ? qosReservedErrors(config) : [])];
}

function* exclusionErrors({ enforceNodeAllocatable }: KubeletConfiguration): Generator<string> {
  for (const pair of [SYSTEM, KUBE]) {
    if (!pair.every((key) => enforceNodeAllocatable.includes(key))) continue;
    yield `both "${pair[0]}" and "${pair[1]}" cannot be specified together in ${FIELD}`;
  }
}

function* enforcementErrors(config: KubeletConfiguration): Generator<string> {
  const seen = new Set<string>();
  for (const key of config.enforceNodeAllocatable) {
    if (seen.has(key)) {
      yield `duplicated enforcements "${key}" in ${FIELD}`;
      continue;
    }
    seen.add(key);
    if (!ENFORCEMENTS.includes(key)) {
      const [last, ...others] = ENFORCEMENTS.map((each) => `"${each}"`).toReversed();
      yield `option "${key}" specified for ${FIELD}. Valid options are ${others.toReversed().join(', ')} or ${last}`;
      continue;
    }
    if (key === 'none') {
      if (config.enforceNodeAllocatable.length > 1) {
        yield `${FIELD} may not contain additional enforcements when "none" is specified`;
      }
      continue;
    }
    if (key.startsWith('system-') && !config.systemReservedCgroup) {
      yield `systemReservedCgroup (--system-reserved-cgroup) must be specified when "${SYSTEM.join('" or "')}" included in ${FIELD}`;
    }
    if (key.startsWith('kube-') && !config.kubeReservedCgroup) {
      yield `kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "${KUBE.join('" or "')}" included in ${FIELD}`;
    }
    if (!config.cgroupsPerQOS) {
      yield `cgroupsPerQOS (--cgroups-per-qos) must be set to true when "${key}" contained in ${FIELD}`;
    }
  }
}

function* reservedCpuErrors(config: KubeletConfiguration): Generator<string> {
  const { reservedSystemCPUs: cpus } = config;
  if (!cpus) return;
  if (config.systemReservedCgroup || config.kubeReservedCgroup) {
    yield "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)";
  }
  const message = cpuSetError(cpus);
  if (message !== undefined) yield `unable to parse reservedSystemCPUs (--reserved-cpus) ${cpus}, error: ${message}`;
}

function* reservedMemoryErrors({ reservedMemory = [] }: KubeletConfiguration): Generator<string> {
  const seen = new Set<string>();
  for (const { numaNode, limits } of reservedMemory) {
    for (const [resource, amount] of Object.entries(limits)) {
      if (!isMemoryResource(resource)) {
        yield `the limit type "${resource}" for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`;
      }
      if (parseQuantity(amount).isZero()) {
        yield `reserved memory may not be zero for NUMA node ${numaNode} and resource "${resource}"`;
      }
      if (seen.has(`${numaNode} ${resource}`)) {
        yield `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource "${resource}"`;
      }
      seen.add(`${numaNode} ${resource}`);
    }
  }
}

const RESERVABLE = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

function* reservationErrors({ systemReserved = {}, kubeReserved = {} }: KubeletConfiguration): Generator<string> {
  for (const [resource, amount] of [...Object.entries(systemReserved), ...Object.entries(kubeReserved)]) {
    const message = reservationError(resource, amount);
    if (message !== undefined) yield message;
  }
}

function reservationError(resource: string, amount: string): string | undefined {
  if (!RESERVABLE.includes(resource)) return `cannot reserve "${resource}" resource`;
  try {
    if (!parseQuantity(amount).isNegative()) return undefined;
    return `resource quantity for "${resource}" cannot be negative: ${amount}`;
  } catch (error) {
    return `failed to parse quantity ${JSON.stringify(amount)} for "${resource}" resource: ${errorText(error)}`;
  }
}

function* qosReservedErrors({ qosReserved = {} }: KubeletConfiguration): Generator<string> {
  for (const [resource, share] of Object.entries(qosReserved)) {
    if (resource !== 'memory') {
      yield `cannot reserve "${resource}" resource`;
      continue;
    }
    const message = percentageError(share);
    if (message !== undefined) yield `failed to parse percentage "${share}" for "${resource}" resource: ${message}`;
  }
}

function percentageError(text: string): string | undefined {
  if (!text.endsWith('%')) return `percentage expected, got '${text}'`;
  const digits = text.replace(/%+$/, '');
  if (!/^[-+]?[0-9]+$/.test(digits)) return `invalid number in percentage '${text}'`;
  return Number(digits) < 0 || Number(digits) > 100 ? 'percentage must be between 0 and 100' : undefined;
}
