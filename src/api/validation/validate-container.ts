import { dnsLabelErrors } from '../../base/name-syntax.ts';
import type { Container, EphemeralContainer, PodSpec } from '../generated/core-v1.ts';
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  notFound,
  oneOf,
  required,
  requiredAnd,
  requiredOneOf,
  tooMany,
} from './field-error.ts';
import { validateEnv, validateEnvFrom } from './validate-env.ts';
import { type Volumes, validateDevices, validateMounts } from './validate-mounts.ts';
import { uniqueHostPorts, validatePorts } from './validate-ports.ts';
import { validateHooksAndProbes } from './validate-probe.ts';
import { validateContainerResources } from './validate-resources.ts';
import { validateSecurityContext } from './validate-security.ts';

/** What containers are checked against. */
interface Surroundings {
  readonly spec: PodSpec;
  readonly volumes: Volumes;
}

export function* validateContainers({ spec, volumes }: Surroundings): FieldErrors {
  const path = 'spec.containers';
  if (spec.containers.length === 0) return yield required(path);
  const names = new Set<string>();
  for (const [index, container] of spec.containers.entries()) {
    const at = `${path}[${index}]`;
    yield* validateAnyContainer(at, container, { spec, volumes });
    if (names.has(container.name)) yield duplicate(`${at}.name`, container.name);
    names.add(container.name);
    yield* validateHooksAndProbes(at, container, spec);
    yield* validateRestartPolicy(at, container);
  }
  yield* uniqueHostPorts(path, spec.containers);
}

export function* validateInitContainers({ spec, volumes }: Surroundings): FieldErrors {
  const path = 'spec.initContainers';
  const names = new Set(spec.containers.map(({ name }) => name));
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const at = `${path}[${index}]`;
    yield* validateAnyContainer(at, container, { spec, volumes });
    yield* validateInitRestartPolicy(at, container);
    if (names.has(container.name)) yield duplicate(`${at}.name`, container.name);
    if (container.name !== '') names.add(container.name);
    yield* uniqueHostPorts(path, [container]);
    if (container.restartPolicy === 'Always') yield* validateHooksAndProbes(at, container, spec);
    else yield* validateShortLived(at, container);
  }
}

export function* validateEphemeralContainers({ spec, volumes }: Surroundings): FieldErrors {
  const path = 'spec.ephemeralContainers';
  const others = new Set([...spec.containers, ...(spec.initContainers ?? [])].map(({ name }) => name));
  const names = new Set(others);
  for (const [index, container] of (spec.ephemeralContainers ?? []).entries()) {
    const at = `${path}[${index}]`;
    yield* validateAnyContainer(at, container, { spec, volumes });
    yield* imageWithoutSpace(at, container);
    if (names.has(container.name)) yield duplicate(`${at}.name`, container.name);
    names.add(container.name);
    const target = container.targetContainerName;
    if (target && !others.has(target)) yield notFound(`${at}.targetContainerName`, target);
    yield* onlyForDebugging(at, container);
  }
}

/** A check that upstream leaves to the very end. */
export function* imageWithoutSpace(path: string, { image = '' }: Container): FieldErrors {
  if (image.trim() !== image) yield invalid(`${path}.image`, image, 'must not have leading or trailing whitespace');
}

function* validateAnyContainer(path: string, container: Container, { spec, volumes }: Surroundings): FieldErrors {
  const { securityContext, resources = {} } = container;
  const claimNames = (spec.resourceClaims ?? []).map(({ name }) => name).filter((name) => name !== '');
  yield* requiredAnd(`${path}.name`, container.name, dnsLabelErrors);
  if (!container.image) yield required(`${path}.image`);
  yield* requiredOneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    'File',
    'FallbackToLogsOnError',
  ]);
  yield* validatePorts(`${path}.ports`, container.ports);
  yield* validateEnv(`${path}.env`, container.env);
  yield* validateEnvFrom(`${path}.envFrom`, container.envFrom);
  yield* validateMounts(`${path}.volumeMounts`, container, volumes);
  yield* validateDevices(`${path}.volumeDevices`, container, volumes);
  yield* requiredOneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']);
  yield* validateContainerResources(`${path}.resources`, resources, claimNames);
  yield* validateResizePolicy(`${path}.resizePolicy`, container, spec);
  if (securityContext) yield* validateSecurityContext(`${path}.securityContext`, securityContext, spec);
}

function* validateResizePolicy(path: string, { resizePolicy = [] }: Container, spec: PodSpec): FieldErrors {
  const resources = new Set<string>();
  for (const [index, { resourceName, restartPolicy }] of resizePolicy.entries()) {
    if (resources.has(resourceName)) yield duplicate(`${path}[${index}]`, resourceName);
    resources.add(resourceName);
    yield* requiredOneOf(path, resourceName, ['cpu', 'memory']);
    yield* requiredOneOf(path, restartPolicy, ['NotRequired', 'RestartContainer']);
    if (spec.restartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      yield invalid(path, restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
  }
}

/** Rules without a policy are one mistake of an init container, whatever the rules say. */
function* validateInitRestartPolicy(path: string, container: Container): FieldErrors {
  const { restartPolicy, restartPolicyRules = [] } = container;
  if (restartPolicy !== undefined) yield* validateRestartPolicy(path, container);
  else if (restartPolicyRules.length > 0) {
    yield required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used');
  }
}

/** A container may have a restart policy of its own, with rules by exit code. */
function* validateRestartPolicy(path: string, { restartPolicy, restartPolicyRules = [] }: Container): FieldErrors {
  if (restartPolicy !== undefined) {
    yield* oneOf(`${path}.restartPolicy`, restartPolicy, ['Always', 'Never', 'OnFailure']);
  } else if (restartPolicyRules.length > 0) {
    yield required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used');
  }
  if (restartPolicyRules.length > 20) yield tooMany(`${path}.restartPolicyRules`, restartPolicyRules.length, 20);
  for (const [index, { action, exitCodes }] of restartPolicyRules.entries()) {
    const at = `${path}.restartPolicyRules[${index}]`;
    yield* oneOf(`${at}.action`, action, ['Restart', 'RestartAllContainers']);
    if (!exitCodes) {
      yield required(`${at}.exitCodes`, 'must be specified');
      continue;
    }
    yield* oneOf(`${at}.exitCodes.operator`, exitCodes.operator, ['In', 'NotIn']);
    const count = exitCodes.values?.length ?? 0;
    if (count > 255) yield tooMany(`${at}.exitCodes.values`, count, 255);
  }
}

/** An init container that is no sidecar is over before anything could probe it. */
function* validateShortLived(path: string, container: Container): FieldErrors {
  for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    if (!container[field]) continue;
    yield forbidden(`${path}.${field}`, 'may not be set for init containers without restartPolicy=Always');
  }
  for (const [index, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
    if (restartPolicy !== 'RestartContainer') continue;
    const at = `${path}.resizePolicy[${index}].restartPolicy`;
    yield invalid(at, restartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers");
  }
}

/** Nothing may come to depend on an ephemeral container. */
function* onlyForDebugging(path: string, container: EphemeralContainer): FieldErrors {
  const why = 'cannot be set for an Ephemeral Container';
  const fields = ['ports', 'resources', 'resizePolicy', 'restartPolicy', 'restartPolicyRules'] as const;
  const hooks = ['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'] as const;
  for (const field of [...fields, ...hooks]) {
    const value = container[field];
    const isSet = field === 'resources' ? Object.keys(value ?? {}).length > 0 : value !== undefined;
    if (isSet) yield forbidden(`${path}.${field}`, why);
  }
  for (const [index, { subPath, subPathExpr }] of (container.volumeMounts ?? []).entries()) {
    if (subPath) yield forbidden(`${path}.volumeMounts[${index}].subPath`, why);
    if (subPathExpr) yield forbidden(`${path}.volumeMounts[${index}].subPathExpr`, why);
  }
}
