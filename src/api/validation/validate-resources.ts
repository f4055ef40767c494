import { dnsLabelErrors, qualifiedNameErrors } from '../../base/name-syntax.ts';
import { parseQuantity, type Quantity, QuantityError } from '../../base/quantity.ts';
import type { ContainerResourceClaim, PodSpec, ResourceRequirements } from '../generated/core-v1.ts';
import { amountsOf, containerLimits, containerRequests, isPodLevelResource } from '../pod-resources.ts';
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  invalidFor,
  notFound,
  oneOf,
  required,
} from './field-error.ts';

/** A check of a resource's name. */
type NameCheck = (path: string, name: string) => FieldErrors;

/** `claimNames` are those of the pod. */
export function* validateContainerResources(
  path: string,
  resources: ResourceRequirements,
  claimNames: readonly string[],
): FieldErrors {
  yield* validateRequirements(path, resources, validateContainerName);
  yield* validateClaims(`${path}.claims`, resources.claims, claimNames);
}

/** Resources of the pod as a whole, and how its containers fit into them. */
export function* validatePodResources(spec: PodSpec, claimNames: readonly string[]): FieldErrors {
  const path = 'spec.resources';
  const { resources } = spec;
  if (!resources) return;
  if (resources.claims) yield forbidden(`${path}.claims`, 'claims may not be set for Resources at pod-level');
  yield* validateRequirements(path, resources, validatePodName);
  yield* validateClaims(`${path}.claims`, resources.claims, claimNames);
  const requests = amountsOf(resources.requests);
  for (const [name, amount] of containerRequests(spec)) {
    const whole = requests.get(name);
    if (!whole || amount.compare(whole) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container requests of ${amount}`;
    yield invalid(`${path}.requests[${name}]`, `${whole}`, detail);
  }
  yield* containersWithinLimits(path, spec, resources);
}

function* containersWithinLimits(path: string, spec: PodSpec, resources: ResourceRequirements): FieldErrors {
  const limits = amountsOf(resources.limits);
  for (const [name, amount] of containerLimits(spec)) {
    const whole = limits.get(name);
    if (!isHugePages(name) || !whole || amount.compare(whole) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container limits of ${amount}`;
    yield invalid(`${path}.limits[${name}]`, `${whole}`, detail);
  }
  for (const [index, container] of spec.containers.entries()) {
    for (const [name, amount] of amountsOf(container.resources?.limits)) {
      const whole = limits.get(name);
      if (!whole || amount.compare(whole) <= 0) continue;
      const detail = `must be less than or equal to pod limits of ${whole}`;
      yield invalid(`${path}.containers[${index}][${name}].limits`, `${amount}`, detail);
    }
  }
}

function* validateRequirements(path: string, resources: ResourceRequirements, checkName: NameCheck): FieldErrors {
  const limits = amountsOf(resources.limits);
  const requests = amountsOf(resources.requests);
  for (const [name, amount] of limits) yield* validateAmount(`${path}.limits[${name}]`, name, amount, checkName);
  for (const [name, amount] of requests) {
    yield* validateAmount(`${path}.requests[${name}]`, name, amount, checkName);
    yield* validateAgainstLimit(path, name, amount, limits.get(name));
  }
  const names = [...limits.keys(), ...requests.keys()];
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')) {
    yield forbidden(path, 'HugePages require cpu or memory');
  }
}

function* validateAmount(path: string, name: string, amount: Quantity, checkName: NameCheck): FieldErrors {
  yield* checkName(path, name);
  if (amount.isNegative()) yield invalid(path, `${amount}`, 'must be greater than or equal to 0');
  if (isCounted(name) && amount.milliValue() % 1000n !== 0n) yield invalid(path, `${amount}`, 'must be an integer');
  if (isHugePages(name) && !isWholePages(name, amount)) {
    yield invalid(path, `${amount}`, `${amount} is not positive integer multiple of ${name}`);
  }
}

/** A resource that cannot be overcommitted has equal requests and limits. */
function* validateAgainstLimit(path: string, name: string, amount: Quantity, limit: Quantity | undefined): FieldErrors {
  const mayOvercommit = isNative(name) && !isHugePages(name);
  if (!limit) {
    if (!mayOvercommit) yield required(`${path}.limits`, 'Limit must be set for non overcommitable resources');
  } else if (!mayOvercommit && amount.compare(limit) !== 0) {
    yield invalid(`${path}.requests`, `${amount}`, `must be equal to ${name} limit of ${limit}`);
  } else if (amount.compare(limit) > 0) {
    yield invalid(`${path}.requests`, `${amount}`, `must be less than or equal to ${name} limit of ${limit}`);
  }
}

function* validateContainerName(path: string, name: string): FieldErrors {
  const errors = [...validateName(path, name)];
  yield* errors;
  if (!name.includes('/')) {
    if (!['cpu', 'memory', 'ephemeral-storage'].includes(name) && !isHugePages(name)) {
      yield invalid(path, name, 'must be a standard resource for containers');
    }
  } else if (!isNative(name) && !isExtended(name)) {
    yield invalid(path, name, "doesn't follow extended resource name standard");
  }
}

function* validatePodName(path: string, name: string): FieldErrors {
  const errors = [...validateName(path, name)];
  yield* errors;
  if (errors.length === 0 && !isPodLevelResource(name)) yield* oneOf(path, name, ['cpu', 'hugepages-', 'memory']);
}

const STANDARD_RESOURCES =
  /^((requests\.|limits\.)?(cpu|memory|ephemeral-storage)|(requests\.)?storage|pods|resourcequotas|services(\.nodeports|\.loadbalancers)?|replicationcontrollers|secrets|configmaps|persistentvolumeclaims|(requests\.)?hugepages-.*)$/;

function* validateName(path: string, name: string): FieldErrors {
  const messages = qualifiedNameErrors(name);
  yield* invalidFor(path, name, messages);
  if (messages.length === 0 && !name.includes('/') && !STANDARD_RESOURCES.test(name)) {
    yield invalid(path, name, 'must be a standard resource type or fully qualified');
  }
}

/** Claims of a container are claims of its pod, whole or one request of them, each once. */
function* validateClaims(
  path: string,
  claims: readonly ContainerResourceClaim[] = [],
  known: readonly string[],
): FieldErrors {
  const seen = new Set<string>();
  for (const [index, { name, request }] of claims.entries()) {
    const at = `${path}[${index}]`;
    if (name === '') {
      yield required(at);
      continue;
    }
    const key = request ? `${name}/${request}` : name;
    if (request && !seen.has(name)) yield* invalidFor(`${at}.request`, request, dnsLabelErrors(request));
    if (seen.has(name)) yield duplicate(at, name);
    else if (seen.has(key)) yield duplicate(at, key);
    else if (!request && [...seen].some((other) => other.startsWith(`${name}/`))) yield duplicate(at, name);
    seen.add(key);
    if (!known.includes(name)) {
      const names = known.length === 0 ? ' which is empty' : `: ${[...known].sort(byText).join(', ')}`;
      yield notFound(at, name, `must be one of the names in pod.spec.resourceClaims${names}`);
    }
  }
}

/** Things that come in ones: devices and the like. */
function isCounted(name: string): boolean {
  return (
    isExtended(name) ||
    /^(pods|resourcequotas|services(\..*)?|replicationcontrollers|secrets|configmaps|persistentvolumeclaims)$/.test(
      name,
    )
  );
}

function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

function isExtended(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.') && qualifiedNameErrors(`requests.${name}`).length === 0;
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

function isWholePages(name: string, amount: Quantity): boolean {
  try {
    const size = parseQuantity(name.slice('hugepages-'.length));
    return size.value() > 0n && size.milliValue() % 1000n === 0n && amount.value() % size.value() === 0n;
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    return false;
  }
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
