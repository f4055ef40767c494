import type { Pod, ResourceRequirements } from '../../api/generated/core-v1.ts';
import { podLimits, podRequests, type ResourceAmounts, type ResourceList } from '../../api/pod-resources.ts';
import { parseQuantity, Quantity } from '../../base/quantity.ts';
import { cpuShares, MIN_SHARES, sharesToMilliCpu } from '../resources/cpu-units.ts';

const NANO_PER_MILLI = 1_000_000n;
const NANO = 1_000_000_000n;
/** The smallest CPU limit that the kernel can enforce: 1 ms in each 100 ms. */
const MIN_MILLI_CPU_LIMIT = 10n;

/**
 * The resources of a running container as kubelet reads them back from the runtime: CPU in thousandths, the memory limit
 * in bytes with a binary suffix (`33554432` becomes `32Mi`). No runtime reports the memory request and other resources:
 * they keep the text of the spec. `actual`: what the container runs with.
 */
export function reportedResources(allocated: ResourceRequirements, actual: ResourceRequirements): ResourceRequirements {
  const cpuLimit = reportedCpuLimit(actual.limits?.['cpu'], allocated.limits?.['cpu']);
  const cpuRequest = reportedCpuRequest(actual.requests?.['cpu'], allocated.requests?.['cpu']);
  const memoryLimit = reportedMemory(actual.limits?.['memory']);
  return {
    ...actual,
    ...(actual.limits && { limits: withAmounts(actual.limits, { cpu: cpuLimit, memory: memoryLimit }) }),
    ...(actual.requests && { requests: withAmounts(actual.requests, { cpu: cpuRequest }) }),
  };
}

/**
 * The resources of a pod that the API server knows as running, as kubelet reads them back from the pod's cgroup: CPU and
 * memory, and what the pod itself asks for. `actual`: the pod with the resources that its containers run with.
 */
export function reportedPodResources(actual: Pod): ResourceRequirements {
  const own = actual.spec.resources ?? {};
  const [requests, limits] = [podRequests(actual), podLimits(actual)];
  const cpuLimit = reportedCpuLimit(textOf(limits, 'cpu'), own.limits?.['cpu']);
  const cpuRequest = reportedCpuRequest(textOf(requests, 'cpu'), own.requests?.['cpu']);
  const memoryLimit = reportedMemory(textOf(limits, 'memory'));
  const memoryRequest = own.requests?.['memory'] ?? textOf(requests, 'memory');
  return withoutEmpty({
    requests: withAmounts(own.requests ?? {}, { cpu: cpuRequest, memory: memoryRequest }),
    limits: withAmounts(own.limits ?? {}, { cpu: cpuLimit, memory: memoryLimit }),
  });
}

/** `undefined`: below what the kernel can enforce, so the status keeps the allocated amount. */
function reportedCpuLimit(actual: Text, allocated: Text): string | undefined {
  const milli = milliCpu(actual);
  if (milli === 0n || (milli <= MIN_MILLI_CPU_LIMIT && milliCpu(allocated) <= MIN_MILLI_CPU_LIMIT)) return undefined;
  return milliText(milli < MIN_MILLI_CPU_LIMIT ? MIN_MILLI_CPU_LIMIT : milli);
}

/** `undefined`: no more than the smallest weight, so the status keeps the allocated amount. */
function reportedCpuRequest(actual: Text, allocated: Text): string | undefined {
  if (actual === undefined) return undefined;
  const milli = sharesToMilliCpu(cpuShares(milliCpu(actual)));
  return milli > MIN_SHARES || milliCpu(allocated) > MIN_SHARES ? milliText(milli) : undefined;
}

function reportedMemory(actual: Text): string | undefined {
  const bytes = actual === undefined ? 0n : parseQuantity(actual).value();
  return bytes > 0n ? new Quantity(bytes * NANO, 'BinarySI').toString() : undefined;
}

type Text = string | number | undefined;

function milliCpu(text: Text): bigint {
  return text === undefined ? 0n : parseQuantity(text).milliValue();
}

function milliText(milli: bigint): string {
  return new Quantity(milli * NANO_PER_MILLI, 'DecimalSI').toString();
}

function textOf(amounts: ResourceAmounts, name: string): string | undefined {
  return amounts.get(name)?.toString();
}

function withAmounts(list: ResourceList, amounts: Readonly<Record<string, Text>>): ResourceList {
  const known = Object.entries(amounts).flatMap(([name, amount]) => (amount === undefined ? [] : [[name, amount]]));
  return { ...list, ...Object.fromEntries(known) };
}

function withoutEmpty({ requests = {}, limits = {} }: ResourceRequirements): ResourceRequirements {
  return {
    ...(Object.keys(requests).length > 0 && { requests }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}
