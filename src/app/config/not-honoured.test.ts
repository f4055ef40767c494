import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byCodePoint } from '../../base/code-point-order.ts';
import { formatDiagnostic } from './config-diagnostic.ts';
import { STRUCTS } from './generated/kubelet-configuration-schema.ts';
import { mergeConfig } from './merge-config.ts';
import { HONOURED, IN_PART, notHonoured } from './not-honoured.ts';

const cases: Record<string, { file: Record<string, unknown>; expected: string[] }> = {
  'has nothing to say about the defaults': { file: {}, expected: [] },
  'has nothing to say about what works': { file: { maxPods: 20, clusterDNS: ['10.0.0.10'] }, expected: [] },
  'has nothing to say about what is asked to be off': { file: { enableSystemLogQuery: false }, expected: [] },
  'warns about each field that has no effect': {
    file: { hairpinMode: 'hairpin-veth' },
    expected: ['warning hairpinMode: has no effect, as in kubelet v1.36'],
  },
  'evicts by every kind of threshold': {
    file: {
      evictionHard: { 'memory.available': '1Gi' },
      evictionSoft: { 'nodefs.available': '20%' },
      evictionSoftGracePeriod: { 'nodefs.available': '1m' },
      evictionMinimumReclaim: { 'nodefs.available': '1Gi' },
      evictionMaxPodGracePeriod: 30,
      evictionPressureTransitionPeriod: '1m0s',
      mergeDefaultEvictionSettings: true,
      kernelMemcgNotification: true,
    },
    expected: [],
  },
  'serves what it is asked to serve': {
    file: {
      readOnlyPort: 10255,
      enableSystemLogQuery: true,
      enableProfilingHandler: false,
      enableDebugFlagsHandler: false,
    },
    expected: [],
  },
  'serves health where it is asked to': { file: { healthzPort: 1234, healthzBindAddress: '::' }, expected: [] },
  'enforces reserved resources': {
    file: {
      enforceNodeAllocatable: ['pods', 'kube-reserved', 'system-reserved-compressible'],
      kubeReservedCgroup: '/kube',
      systemReservedCgroup: '/system',
      systemCgroups: '/system',
      kubeletCgroups: '/kube/agent',
    },
    expected: [],
  },
  'reserves memory of QoS classes with its feature gate': {
    file: { qosReserved: { memory: '50%' }, featureGates: { QOSReserved: true } },
    expected: [],
  },
  'warns about reserved memory of QoS classes without it': {
    file: { qosReserved: { memory: '50%' } },
    expected: ['warning qosReserved: has no effect while the feature gate QOSReserved is off'],
  },
  'sets up the kernel and the network of the host': {
    file: { protectKernelDefaults: true, makeIPTablesUtilChains: false, podCIDR: '10.1.0.0/24', maxOpenFiles: 5000 },
    expected: [],
  },
  'warns about fields that kubelet does nothing with either': {
    file: { hairpinMode: 'none', iptablesDropBit: 3 },
    expected: ['hairpinMode', 'iptablesDropBit'].map((field) => `warning ${field}: has no effect, as in kubelet v1.36`),
  },
  'closes idle streams of the embedded runtime': {
    file: { streamingConnectionIdleTimeout: '1h', containerRuntimeEndpoint: 'embedded' },
    expected: [],
  },
  'warns about idle streams of another runtime': {
    file: { streamingConnectionIdleTimeout: '1h' },
    expected: [
      'warning streamingConnectionIdleTimeout: has no effect, as in kubelet v1.36: it is a setting of the container runtime',
    ],
  },
  'warns about what a program of one thread and without flexVolume cannot have': {
    file: { enableContentionProfiling: true, volumePluginDir: '/plugins' },
    expected: [
      'warning enableContentionProfiling: has no effect: the agent is one thread, and waits for no locks',
      'warning volumePluginDir: has no effect: it holds drivers of flexVolume, which is not supported',
    ],
  },
  'sends JSON when asked to': { file: { contentType: 'application/json' }, expected: [] },
  'warns about other content types': {
    file: { contentType: 'application/cbor' },
    expected: ['warning contentType: has no effect: requests to the API server are JSON'],
  },
  'takes an image service beside the runtime': {
    file: { imageServiceEndpoint: 'unix:///run/images.sock' },
    expected: [],
  },
  'warns about an image service beside the embedded runtime': {
    file: { imageServiceEndpoint: 'unix:///run/images.sock', containerRuntimeEndpoint: 'embedded' },
    expected: ['warning imageServiceEndpoint: has no effect with the embedded runtime, which has its own images'],
  },
  'warns about a limit of open files that would be the limit of containers': {
    file: { maxOpenFiles: 5000, containerRuntimeEndpoint: 'embedded' },
    expected: [
      'warning maxOpenFiles: has no effect with the embedded runtime, whose containers have the limit of its process: set LimitNOFILE= of the service',
    ],
  },
  'has nothing to say where nothing is to be enforced': { file: { enforceNodeAllocatable: ['none'] }, expected: [] },
  'takes the verbosity of the log': { file: { logging: { verbosity: 4 } }, expected: [] },
  'takes the format of the log, and a verbosity for each module': {
    file: { logging: { format: 'json', verbosity: 4, vmodule: [{ filePattern: 'server', verbosity: 2 }] } },
    expected: [],
  },
  'warns about each feature gate that has no effect': {
    file: { featureGates: { KubeletInUserNamespace: true, EnvFiles: false } },
    expected: ['warning featureGates["KubeletInUserNamespace"]: has no effect in this version of Nodelet'],
  },
  'takes the fields of memory and swap': {
    file: {
      failSwapOn: false,
      memorySwap: { swapBehavior: 'LimitedSwap' },
      singleProcessOOMKill: true,
      memoryThrottlingFactor: 0.8,
      memoryReservationPolicy: 'TieredReservation',
      featureGates: { MemoryQoS: true },
    },
    expected: [],
  },
  'warns about a throttling factor that nothing follows': {
    file: { memoryThrottlingFactor: 0.8 },
    expected: ['warning memoryThrottlingFactor: has no effect while the feature gate MemoryQoS is off'],
  },
  'refuses what containers cannot be run with': {
    file: { cgroupDriver: 'docker', cgroupsPerQOS: false },
    expected: [
      'error cgroupDriver: docker is unknown: it is cgroupfs or systemd',
      'error cgroupsPerQOS: false is not supported yet',
    ],
  },
};

for (const [name, { file, expected }] of Object.entries(cases)) {
  test(`notHonoured() ${name}`, () => {
    const config = mergeConfig({ file: file as never, dropIns: [], flags: [] });
    assert.deepEqual(
      notHonoured(config)
        .map((diagnostic) => `${diagnostic.severity} ${formatDiagnostic(diagnostic)}`)
        .toSorted(),
      expected.toSorted(),
    );
  });
}

test('every field has an effect, or says why it has none', () => {
  const states = new Set([...HONOURED, ...Object.keys(IN_PART)]);
  const others = [...STRUCTS.KubeletConfiguration.keys()].filter((field) => !states.has(field));
  // runOnce: as in kubelet, it is an error.
  assert.deepEqual(others.toSorted(byCodePoint), ['runOnce']);
});
