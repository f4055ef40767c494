import type { Quantity as ApiQuantity, Container, Pod, ResourceFieldSelector } from '../../../api/generated/core-v1.ts';
import type { ResourceList } from '../../../api/pod-resources.ts';
import { parseQuantity } from '../../../base/quantity.ts';

/** Unset limits of these resources default to the pod's limit, else to the node's allocatable amount. */
const DEFAULTED_LIMITS = ['cpu', 'memory', 'ephemeral-storage'];

export interface ResourceFieldContext {
  readonly pod: Pod;
  readonly container: Container;
  /** Allocatable resources of the node. */
  readonly allocatable: ResourceList;
}

/** A request or limit divided by the divisor, rounded up. Throws kubelet's message for unsupported resources. */
export function resourceFieldText(selector: ResourceFieldSelector, context: ResourceFieldContext): string {
  const { kind, name } = parseResource(selector.resource);
  const container = selectedContainer(selector.containerName ?? '', context);
  const declared = container.resources?.[kind]?.[name];
  const amount = kind === 'limits' ? defaultedLimit(declared, name, container, context) : declared;
  const quantity = parseQuantity(amount ?? 0);
  const requested = parseQuantity(selector.divisor ?? 0);
  const divisor = requested.isZero() ? parseQuantity(1) : requested;
  // As in kubelet: CPUs in thousandths, everything else in whole units, divided as floating point.
  const [value, by] =
    name === 'cpu' ? [quantity.milliValue(), divisor.milliValue()] : [quantity.value(), divisor.value()];
  return String(Math.ceil(Number(value) / Number(by)));
}

function parseResource(resource: string): { kind: 'limits' | 'requests'; name: string } {
  const match = /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.*)$/.exec(resource);
  if (!match) throw new Error(`unsupported container resource : ${resource}`);
  return { kind: match[1] === 'limits' ? 'limits' : 'requests', name: match[2] ?? '' };
}

function selectedContainer(name: string, { pod, container }: ResourceFieldContext): Container {
  if (name === '') return container;
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const found = all.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`container ${name} not found`);
  return found;
}

function defaultedLimit(
  declared: ApiQuantity | undefined,
  name: string,
  container: Container,
  context: ResourceFieldContext,
): ApiQuantity | undefined {
  const isSet = declared !== undefined && !parseQuantity(declared).isZero();
  // As in kubelet, an init container selected by name gets no defaults.
  const isDefaulted = container === context.container || context.pod.spec.containers.includes(container);
  if (isSet || !isDefaulted || !DEFAULTED_LIMITS.includes(name)) return declared;
  const ofNode = context.allocatable[name];
  const ofPod = name === 'ephemeral-storage' ? undefined : context.pod.spec.resources?.limits?.[name];
  const ofPodIsSet = ofPod !== undefined && !parseQuantity(ofPod).isZero();
  return ofPodIsSet && ofNode !== undefined ? ofPod : (ofNode ?? declared);
}
