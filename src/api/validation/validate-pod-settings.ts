/** What concerns the pod as a whole: names, DNS, times, tolerations. */

import { ipAddressErrors } from '../../base/ip-address.ts';
import {
  dnsLabelErrors,
  dnsSubdomainErrors,
  dnsSubdomainWithUnderscoreErrors,
  labelValueErrors,
  qualifiedNameErrors,
  rangeErrors,
} from '../../base/name-syntax.ts';
import { containersWithPath } from '../containers-with-path.ts';
import type { PodDNSConfig, PodSpec, Toleration } from '../generated/core-v1.ts';
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  invalidFor,
  notSupported,
  oneOf,
  required,
  requiredOneOf,
  tooLong,
} from './field-error.ts';

const MAX_INT32 = 2 ** 31 - 1;
const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;

export function* validateDns({ dnsConfig, dnsPolicy }: PodSpec): FieldErrors {
  const path = 'spec.dnsConfig';
  if (dnsPolicy === 'None') {
    if (!dnsConfig) return yield required(path, 'must provide `dnsConfig` when `dnsPolicy` is None');
    if ((dnsConfig.nameservers ?? []).length === 0) {
      const detail = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
      return yield required(`${path}.nameservers`, detail);
    }
  }
  if (dnsConfig) yield* validateDnsConfig(path, dnsConfig);
}

function* validateDnsConfig(
  path: string,
  { nameservers = [], searches = [], options = [] }: PodDNSConfig,
): FieldErrors {
  if (nameservers.length > MAX_NAMESERVERS) {
    yield invalid(`${path}.nameservers`, nameservers, `must not have more than ${MAX_NAMESERVERS} nameservers`);
  }
  for (const [index, server] of nameservers.entries()) {
    yield* invalidFor(`${path}.nameservers[${index}]`, server, ipAddressErrors(server));
  }
  if (searches.length > MAX_SEARCHES) {
    yield invalid(`${path}.searches`, searches, `must not have more than ${MAX_SEARCHES} search paths`);
  }
  if (searches.join(' ').length > MAX_SEARCH_CHARACTERS) {
    const detail = `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`;
    yield invalid(`${path}.searches`, searches, detail);
  }
  for (const [index, search] of searches.entries()) {
    const name = search.replace(/\.$/, '');
    if (search !== '.') yield* invalidFor(`${path}.searches[${index}]`, name, dnsSubdomainWithUnderscoreErrors(name));
  }
  for (const [index, { name }] of options.entries()) {
    if (!name) yield required(`${path}.options[${index}]`, 'must not be empty');
  }
}

/** Condition types and gates that others set before the pod is ready or scheduled. */
export function* validateGates({ readinessGates = [], schedulingGates = [], nodeName }: PodSpec): FieldErrors {
  for (const [index, { conditionType }] of readinessGates.entries()) {
    const path = `spec.readinessGates[${index}].conditionType`;
    yield* invalidFor(path, conditionType, qualifiedNameErrors(conditionType));
  }
  const names = new Set<string>();
  for (const [index, { name }] of schedulingGates.entries()) {
    const path = `spec.schedulingGates[${index}]`;
    yield* invalidFor(path, name, qualifiedNameErrors(name));
    if (names.has(name)) yield duplicate(path, name);
    names.add(name);
  }
  if (nodeName && schedulingGates.length > 0) {
    yield forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared');
  }
}

export function* validateHostnameOverride(spec: PodSpec): FieldErrors {
  const path = 'spec.hostnameOverride';
  const { hostnameOverride: name } = spec;
  if (name === undefined) return;
  if (spec.setHostnameAsFQDN) yield forbidden(path, 'may not be specified when setHostnameAsFQDN is true');
  if (spec.hostNetwork) yield forbidden(path, 'may not be specified when hostNetwork is true');
  if (name.length > 64) yield tooLong(path, 64);
  yield* invalidFor(path, name, dnsSubdomainErrors(name));
}

/** Names of other objects and of the pod in DNS, and how long it may run. */
export function* validateNames(spec: PodSpec): FieldErrors {
  for (const field of ['serviceAccountName', 'nodeName'] as const) {
    const name = spec[field];
    if (name) yield* invalidFor(`spec.${field}`, name, dnsSubdomainErrors(name));
  }
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined) {
    yield* invalidFor('spec.activeDeadlineSeconds', deadline, rangeErrors(deadline, 1, MAX_INT32));
  }
  for (const field of ['hostname', 'subdomain'] as const) {
    const name = spec[field];
    if (name) yield* invalidFor(`spec.${field}`, name, dnsLabelErrors(name));
  }
}

export function* validateClassNames({ priorityClassName, runtimeClassName, preemptionPolicy }: PodSpec): FieldErrors {
  if (priorityClassName) {
    yield* invalidFor('spec.priorityClassName', priorityClassName, dnsSubdomainErrors(priorityClassName));
  }
  if (runtimeClassName !== undefined) {
    yield* invalidFor('spec.runtimeClassName', runtimeClassName, dnsSubdomainErrors(runtimeClassName));
  }
  if (preemptionPolicy !== undefined) {
    yield* requiredOneOf('spec.preemptionPolicy', preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  }
}

export function* validateHostAliases({ hostAliases = [] }: PodSpec): FieldErrors {
  for (const [index, { ip, hostnames = [] }] of hostAliases.entries()) {
    const path = `spec.hostAliases[${index}]`;
    yield* invalidFor(`${path}.ip`, ip, ipAddressErrors(ip));
    for (const [nameIndex, name] of hostnames.entries()) {
      yield* invalidFor(`${path}.hostnames[${nameIndex}]`, name, dnsSubdomainErrors(name));
    }
  }
}

export function* validateTolerations({ tolerations = [] }: PodSpec): FieldErrors {
  for (const [index, toleration] of tolerations.entries()) {
    yield* validateToleration(`spec.tolerations[${index}]`, toleration);
  }
}

function* validateToleration(path: string, toleration: Toleration): FieldErrors {
  const { key, operator = '', value = '', effect = '', tolerationSeconds } = toleration;
  if (key) yield* invalidFor(`${path}.key`, key, qualifiedNameErrors(key));
  else if (operator !== 'Exists') {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    yield invalid(`${path}.operator`, operator, detail);
  }
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    yield invalid(`${path}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (operator === '' || operator === 'Equal') {
    const messages = labelValueErrors(value);
    if (messages.length > 0) yield invalid(`${path}.operator`, value, messages.join(';'));
  } else if (operator !== 'Exists') {
    yield* unsupportedOperator(`${path}.operator`, operator);
  } else if (value !== '') {
    yield invalid(`${path}.operator`, value, "value must be empty when `operator` is 'Exists'");
  }
  if (effect) yield* oneOf(`${path}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']);
}

/** `Lt` and `Gt` are known, but not in use yet. */
function* unsupportedOperator(path: string, operator: string): FieldErrors {
  const known = ['Lt', 'Gt'].includes(operator) ? ['Equal', 'Exists', 'Lt', 'Gt'] : ['Equal', 'Exists'];
  yield notSupported(path, operator, known);
}

/** A Linux pod has no Windows options. Windows pods are turned away when they are admitted. */
export function* validateOs(spec: PodSpec): FieldErrors {
  if (!spec.os) return;
  if (spec.os.name === '') return yield required('spec.os.name');
  yield* oneOf('spec.os', spec.os.name, ['linux', 'windows']);
  if (spec.os.name !== 'linux') return;
  const why = 'windows options cannot be set for a linux pod';
  if (spec.securityContext?.windowsOptions) yield forbidden('spec.securityContext.windowsOptions', why);
  for (const { path, container } of containersWithPath(spec)) {
    if (container.securityContext?.windowsOptions) yield forbidden(`${path}.securityContext.windowsOptions`, why);
  }
}
