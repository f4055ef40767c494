import { parseDurationMs } from '../../base/duration.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../base/name-syntax.ts';
import { isTlsCurve } from '../../host/tls-curves.ts';
import { policyOptionsError } from '../../kubelet/cpu-manager/policy-options.ts';
import { TOPOLOGY_POLICIES } from '../../kubelet/topology/topology-options.ts';
import type { ConfigDiagnostic } from './config-diagnostic.ts';
import { evictionErrors } from './eviction-thresholds.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import type { IsOn } from './honoured-gates.ts';
import { isTaintEffect } from './node-flag-values.ts';
import { allocatableErrors } from './validate-allocatable.ts';
import { containerLogErrors, podLogsDirErrors } from './validate-container-logs.ts';
import { gatedFieldErrors } from './validate-gated-fields.ts';
import { loggingErrors, tracingErrors } from './validate-logging.ts';
import { numericRangeErrors } from './validate-ranges.ts';

/** What of the machine some checks look at. */
export interface ValidationHost {
  readonly cgroupVersion?: 'v1' | 'v2';
}

/** A complete configuration in, every objection out; in Kubernetes' words, none of which names a place. */
export function validateConfig(
  config: KubeletConfiguration,
  gates: ReadonlyMap<string, boolean>,
  host: ValidationHost = {},
): readonly ConfigDiagnostic[] {
  const isOn: IsOn = (gate) => gates.get(gate) ?? false;
  const messages = [
    ...numericRangeErrors(config),
    ...periodErrors(config, isOn),
    ...taintErrors(config),
    ...choiceErrors(config),
    ...cpuManagerErrors(config, isOn),
    ...curveErrors(config),
    ...gatedFieldErrors(config, isOn),
    ...allocatableErrors(config, isOn),
    ...evictionErrors(config),
    ...hostErrors(config, host),
    ...loggingErrors(config.logging, isOn),
    ...tracingErrors(config.tracing),
    ...containerLogErrors(config),
    ...podLogsDirErrors(config.podLogsDir),
  ];
  return messages.map((message) => ({ severity: 'error', message }));
}

function* periodErrors(config: KubeletConfiguration, isOn: IsOn): Generator<string> {
  const quota = parseDurationMs(config.cpuCFSQuotaPeriod);
  const quotaName = `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) ${config.cpuCFSQuotaPeriod}`;
  if (!isOn('CustomCPUCFSQuotaPeriod') && quota !== 100) {
    yield `invalid configuration: ${quotaName} requires feature gate CustomCPUCFSQuotaPeriod`;
  }
  if (isOn('CustomCPUCFSQuotaPeriod') && (quota < 1 || quota > 1000)) {
    yield `invalid configuration: ${quotaName} must be between 1ms and 1sec, inclusive`;
  }
  const { imageMinimumGCAge, imageMaximumGCAge } = config;
  const [minimum, maximum] = [parseDurationMs(imageMinimumGCAge), parseDurationMs(imageMaximumGCAge)];
  if (minimum < 0) yield `invalid configuration: imageMinimumGCAge ${imageMinimumGCAge} must not be negative`;
  if (maximum < 0) yield `invalid configuration: imageMaximumGCAge ${imageMaximumGCAge} must not be negative`;
  if (maximum > 0 && maximum <= minimum) {
    yield `invalid configuration: imageMaximumGCAge ${imageMaximumGCAge} must be greater than imageMinimumGCAge ${imageMinimumGCAge}`;
  }
}

function* taintErrors({ registerWithTaints = [] }: KubeletConfiguration): Generator<string> {
  for (const { key, value = '', effect, timeAdded } of registerWithTaints) {
    const messages = [...qualifiedNameErrors(key), ...labelValueErrors(value)];
    if (messages.length > 0 || (effect !== '' && !isTaintEffect(effect))) {
      yield `invalid taint: {${key} ${value} ${effect} ${timeAdded ?? '<nil>'}}`;
    }
    if (timeAdded !== undefined) yield 'invalid configuration: taint.TimeAdded is not nil';
  }
}

const HAIRPIN_MODES = ['none', 'hairpin-veth', 'promiscuous-bridge'];
/** Of the Kubernetes that this is a node agent of. */
const PREVIOUS_MINOR = '1.35';
const CHANGE_DETECTION = ['Get', 'Cache', 'Watch'];

function* choiceErrors(config: KubeletConfiguration): Generator<string> {
  const { topologyManagerPolicy, topologyManagerScope, hairpinMode, authorization } = config;
  if (!TOPOLOGY_POLICIES.some((policy) => policy === topologyManagerPolicy)) {
    const choices = TOPOLOGY_POLICIES.map((policy) => `"${policy}"`).join(' ');
    yield `invalid configuration: topologyManagerPolicy (--topology-manager-policy) "${topologyManagerPolicy}" must be one of: [${choices}]`;
  }
  if (topologyManagerScope !== 'container' && topologyManagerScope !== 'pod') {
    yield `invalid configuration: topologyManagerScope (--topology-manager-scope) "${topologyManagerScope}" must be one of: "container", or "pod"`;
  }
  if (!HAIRPIN_MODES.includes(hairpinMode)) {
    yield `invalid configuration: option "${hairpinMode}" specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"`;
  }
  if (authorization.mode !== 'AlwaysAllow' && authorization.mode !== 'Webhook') {
    yield `unknown authorization mode ${authorization.mode}`;
  }
  if (config.memoryManagerPolicy === 'BestEffort') yield 'policy "BestEffort" is not available for platform "linux"';
  else if (!['None', 'Static'].includes(config.memoryManagerPolicy)) {
    yield `unknown policy: "${config.memoryManagerPolicy}"`;
  }
  if (!CHANGE_DETECTION.includes(config.configMapAndSecretChangeDetectionStrategy)) {
    yield `unknown configmap and secret manager mode: ${config.configMapAndSecretChangeDetectionStrategy}`;
  }
  const hidden = config.showHiddenMetricsForVersion ?? '';
  if (hidden !== '' && hidden !== PREVIOUS_MINOR) {
    yield `invalid showHiddenMetricsForVersion: showHiddenMetricsForVersion: Invalid value: ${JSON.stringify(hidden)}: must be omitted or have the value '${PREVIOUS_MINOR}'; only the previous minor version is allowed`;
  }
  if (config.containerRuntimeEndpoint === '') {
    yield 'invalid configuration: the containerRuntimeEndpoint was not specified or empty';
  }
}

function* cpuManagerErrors(config: KubeletConfiguration, isOn: IsOn): Generator<string> {
  const { cpuManagerPolicy, cpuManagerPolicyOptions = {} } = config;
  if (!['none', 'static'].includes(cpuManagerPolicy)) yield `unknown policy: "${cpuManagerPolicy}"`;
  const message = policyOptionsError(cpuManagerPolicy, cpuManagerPolicyOptions, {
    alphaOptions: isOn('CPUManagerPolicyAlphaOptions'),
    betaOptions: isOn('CPUManagerPolicyBetaOptions'),
  });
  if (message !== undefined) yield message;
}

function* curveErrors({ tlsCurvePreferences: curves = [] }: KubeletConfiguration): Generator<string> {
  for (const [index, id] of curves.entries()) {
    if (id <= 0 || id > 65_535) yield `curve preference ${id} is out of range (must be 1-65535)`;
    else if (curves.indexOf(id) < index) yield `duplicate curve preference ${id}`;
    else if (!isTlsCurve(id)) yield `curve preference ${id} is not supported by the current Go version`;
  }
}

const USER_NAMESPACE_UNIT = 65_536;

function* hostErrors(config: KubeletConfiguration, { cgroupVersion }: ValidationHost): Generator<string> {
  if (config.failCgroupV1 && cgroupVersion === 'v1') {
    yield 'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release';
  } else if (config.singleProcessOOMKill === false && cgroupVersion === 'v1') {
    yield 'invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1';
  }
  if (config.memorySwap.swapBehavior === 'LimitedSwap' && cgroupVersion === 'v1') {
    yield 'swap feature is enabled and LimitedSwap but it is only supported with cgroupv2';
  }
  const ids = config.userNamespaces?.idsPerPod;
  if (ids === undefined) return;
  if (ids < USER_NAMESPACE_UNIT) {
    yield `invalid configuration: userNamespaces.idsPerPod must not be less than ${USER_NAMESPACE_UNIT}`;
  } else if (ids % USER_NAMESPACE_UNIT !== 0) {
    yield `invalid configuration: userNamespaces.idsPerPod must be a multiple of ${USER_NAMESPACE_UNIT}`;
  } else if (ids > 2 ** 32 - 1) {
    yield `invalid configuration: userNamespaces.idsPerPod must not be more than ${2 ** 32 - 1}`;
  }
}
