import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveFeatureGates } from './feature-gates.ts';
import { type ConfigCase, HEALTHY } from './healthy-config.fixture.ts';
import { type ValidationHost, validateConfig } from './validate-config.ts';

/** Defaults that follow a gate are not taken out when it is turned off here. */
interface Case extends ConfigCase {
  readonly host?: ValidationHost;
}

const cases: Record<string, Case> = {
  'accepts the defaults': { change: {}, messages: [] },
  'bounds single numbers': {
    change: {
      eventBurst: -1,
      eventRecordQPS: -1,
      healthzPort: 65_536,
      imageGCHighThresholdPercent: 101,
      imageGCLowThresholdPercent: -1,
      iptablesDropBit: 32,
      iptablesMasqueradeBit: -1,
      kubeAPIBurst: -1,
      kubeAPIQPS: -1,
      nodeStatusMaxImages: -2,
      maxOpenFiles: -1,
      maxPods: -1,
      oomScoreAdj: 1001,
      podsPerCore: -1,
      port: 0,
      readOnlyPort: -1,
      registryBurst: -1,
      registryPullQPS: -1,
      maxParallelImagePulls: 0,
      memoryThrottlingFactor: 1.1,
    },
    messages: [
      'invalid configuration: eventBurst (--event-burst) -1 must not be a negative number',
      'invalid configuration: eventRecordQPS (--event-qps) -1 must not be a negative number',
      'invalid configuration: healthzPort (--healthz-port) 65536 must be between 1 and 65535, inclusive',
      'invalid configuration: imageGCHighThresholdPercent (--image-gc-high-threshold) 101 must be between 0 and 100, inclusive',
      'invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) -1 must be between 0 and 100, inclusive',
      'invalid configuration: iptablesDropBit (--iptables-drop-bit) 32 must be between 0 and 31, inclusive',
      'invalid configuration: iptablesMasqueradeBit (--iptables-masquerade-bit) -1 must be between 0 and 31, inclusive',
      'invalid configuration: kubeAPIBurst (--kube-api-burst) -1 must not be a negative number',
      'invalid configuration: kubeAPIQPS (--kube-api-qps) -1 must not be a negative number',
      'invalid configuration: nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater',
      'invalid configuration: maxOpenFiles (--max-open-files) -1 must not be a negative number',
      'invalid configuration: maxPods (--max-pods) -1 must not be a negative number',
      'invalid configuration: oomScoreAdj (--oom-score-adj) 1001 must be between -1000 and 1000, inclusive',
      'invalid configuration: podsPerCore (--pods-per-core) -1 must not be a negative number',
      'invalid configuration: port (--port) 0 must be between 1 and 65535, inclusive',
      'invalid configuration: readOnlyPort (--read-only-port) -1 must be between 0 and 65535, inclusive',
      'invalid configuration: registryBurst (--registry-burst) -1 must not be a negative number',
      'invalid configuration: registryPullQPS (--registry-qps) -1 must not be a negative number',
      'invalid configuration: maxParallelImagePulls 0 must be a positive number',
      'invalid configuration: memoryThrottlingFactor 1.1 must be greater than 0 and less than or equal to 1.0',
    ],
  },
  'rejects key exchanges that do not exist, or twice': {
    change: { tlsCurvePreferences: [29, 4588, 0, 29, 30, 70_000] },
    messages: [
      'curve preference 0 is out of range (must be 1-65535)',
      'duplicate curve preference 29',
      'curve preference 30 is not supported by the current Go version',
      'curve preference 70000 is out of range (must be 1-65535)',
    ],
  },
  'takes the numbers that turn things off': {
    change: { healthzPort: 0, readOnlyPort: 0, nodeStatusMaxImages: -1, eventRecordQPS: 0 },
    messages: [],
  },
  'wants a lease that lasts': {
    change: { nodeLeaseDurationSeconds: -1 },
    messages: ['invalid configuration: nodeLeaseDurationSeconds must be greater than 0'],
  },
  'wants the lower threshold below the higher one': {
    change: { imageGCLowThresholdPercent: 85 },
    messages: [
      'invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) 85 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 85',
    ],
  },
  'wants a root for the cgroup of the system': {
    change: { systemCgroups: '/s' },
    messages: [
      'invalid configuration: systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
    ],
  },
  'does not pull in parallel one at a time': {
    change: { maxParallelImagePulls: 2 },
    messages: [
      'invalid configuration: maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
    ],
  },
  'no longer runs once': {
    change: { runOnce: true },
    messages: [
      'invalid configuration: runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set',
    ],
  },
  'bounds the quota period': {
    change: { cpuCFSQuotaPeriod: '2s' },
    messages: [
      'invalid configuration: cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 2s must be between 1ms and 1sec, inclusive',
    ],
  },
  'keeps the quota period while its gate is off': {
    change: { cpuCFSQuotaPeriod: '50ms' },
    gates: { CustomCPUCFSQuotaPeriod: false },
    messages: [
      'invalid configuration: cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 50ms requires feature gate CustomCPUCFSQuotaPeriod',
    ],
  },
  'wants images to grow older than they must': {
    change: { imageMinimumGCAge: '2m0s', imageMaximumGCAge: '1m0s' },
    messages: ['invalid configuration: imageMaximumGCAge 1m0s must be greater than imageMinimumGCAge 2m0s'],
  },
  'has no ages below zero': {
    change: { imageMinimumGCAge: '-1s', imageMaximumGCAge: '-2s' },
    messages: [
      'invalid configuration: imageMinimumGCAge -1s must not be negative',
      'invalid configuration: imageMaximumGCAge -2s must not be negative',
    ],
  },
  'looks at taints': {
    change: {
      registerWithTaints: [
        { key: 'ok', effect: 'NoSchedule' },
        { key: '/x', value: 'v', effect: 'NoSchedule' },
        { key: 'k', effect: 'Never', timeAdded: '2026-01-01T00:00:00Z' },
      ],
    },
    messages: [
      'invalid taint: {/x v NoSchedule <nil>}',
      'invalid taint: {k  Never 2026-01-01T00:00:00Z}',
      'invalid configuration: taint.TimeAdded is not nil',
    ],
  },
  'does not take options with the none policy of the CPU manager': {
    change: { cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } },
    messages: ['new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]'],
  },
  'requires the feature gate of an option of the CPU manager': {
    change: { cpuManagerPolicy: 'static', cpuManagerPolicyOptions: { 'align-by-socket': 'true' } },
    messages: [
      'new static policy error: CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
    ],
  },
  'knows the choices of each policy': {
    change: {
      topologyManagerPolicy: 'x',
      topologyManagerScope: 'x',
      hairpinMode: 'x',
      authorization: { ...HEALTHY.authorization, mode: 'x' },
      cpuManagerPolicy: 'x',
      memoryManagerPolicy: 'y',
      configMapAndSecretChangeDetectionStrategy: 'x',
      showHiddenMetricsForVersion: '1.30',
      containerRuntimeEndpoint: '',
    },
    messages: [
      'invalid configuration: topologyManagerPolicy (--topology-manager-policy) "x" must be one of: ["none" "best-effort" "restricted" "single-numa-node"]',
      'invalid configuration: topologyManagerScope (--topology-manager-scope) "x" must be one of: "container", or "pod"',
      'invalid configuration: option "x" specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"',
      'unknown authorization mode x',
      'unknown policy: "y"',
      'unknown configmap and secret manager mode: x',
      'invalid showHiddenMetricsForVersion: showHiddenMetricsForVersion: Invalid value: "1.30": must be omitted or have the value \'1.35\'; only the previous minor version is allowed',
      'invalid configuration: the containerRuntimeEndpoint was not specified or empty',
      'unknown policy: "x"',
    ],
  },
  'refuses cgroup v1 when it was expected to': {
    change: { failCgroupV1: true },
    host: { cgroupVersion: 'v1' },
    messages: [
      'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release',
    ],
  },
  'cannot kill single processes of a container otherwise than by cgroup v2': {
    change: { singleProcessOOMKill: false },
    host: { cgroupVersion: 'v1' },
    messages: ['invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1'],
  },
  'kills whole containers by cgroup v2': {
    change: { singleProcessOOMKill: false, failCgroupV1: true },
    host: { cgroupVersion: 'v2' },
    messages: [],
  },
  'limits swap by cgroup v2 alone': {
    change: { memorySwap: { swapBehavior: 'LimitedSwap' } },
    host: { cgroupVersion: 'v1' },
    messages: ['swap feature is enabled and LimitedSwap but it is only supported with cgroupv2'],
  },
  'limits swap by cgroup v2': {
    change: { memorySwap: { swapBehavior: 'LimitedSwap' } },
    host: { cgroupVersion: 'v2' },
    messages: [],
  },
  'hands out ids in blocks': {
    change: { userNamespaces: { idsPerPod: 65_537 } },
    messages: ['invalid configuration: userNamespaces.idsPerPod must be a multiple of 65536'],
  },
  'hands out a block at least': {
    change: { userNamespaces: { idsPerPod: 1 } },
    messages: ['invalid configuration: userNamespaces.idsPerPod must not be less than 65536'],
  },
  'hands out no more ids than there are': {
    change: { userNamespaces: { idsPerPod: 2 ** 32 } },
    messages: ['invalid configuration: userNamespaces.idsPerPod must not be more than 4294967295'],
  },
  'rotates logs within reason': {
    change: {
      containerLogMaxWorkers: 0,
      containerLogMonitorInterval: '2s',
      containerLogMaxFiles: 1,
      containerLogMaxSize: 'big',
    },
    messages: [
      'invalid configuration: containerLogMaxWorkers must be greater than or equal to 1',
      'invalid configuration: containerLogMonitorInterval must be a positive time duration greater than or equal to 3s',
      'invalid configuration: containerLogMaxFiles must be greater than 1',
      'failed to parse container log max size "big": quantities must match the regular expression \'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$\'',
    ],
  },
  'counts logs in whole bytes': {
    change: { containerLogMaxSize: '1500m' },
    messages: ['failed to parse container log max size "1500m": invalid max log size'],
  },
  'wants a plain folder for logs': {
    change: { podLogsDir: 'logs/../é/' },
    messages: [
      'invalid configuration: pod logs path "logs/../é/" must be absolute path',
      'invalid configuration: pod logs path "logs/../é/" must be normalized',
      'invalid configuration: pod logs path "logs/../é/" mut contains ASCII characters only',
    ],
  },
  'wants a folder for logs': {
    change: { podLogsDir: '' },
    messages: [
      'invalid configuration: podLogsDir was not specified',
      'invalid configuration: pod logs path "" must be absolute path',
      'invalid configuration: pod logs path "" must be normalized',
    ],
  },
};

for (const [name, { change, gates = {}, host = {}, messages }] of Object.entries(cases)) {
  test(`validateConfig() ${name}`, () => {
    const diagnostics = validateConfig({ ...HEALTHY, ...change }, resolveFeatureGates(gates).gates, host);
    assert.deepEqual(
      diagnostics,
      messages.map((message) => ({ severity: 'error', message })),
    );
  });
}
