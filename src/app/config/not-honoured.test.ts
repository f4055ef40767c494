import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDiagnostic } from './config-diagnostic.ts';
import { mergeConfig } from './merge-config.ts';
import { notHonoured } from './not-honoured.ts';

const cases: Record<string, { file: Record<string, unknown>; expected: string[] }> = {
  'has nothing to say about the defaults': { file: {}, expected: [] },
  'has nothing to say about what works': { file: { maxPods: 20, clusterDNS: ['10.0.0.10'] }, expected: [] },
  'has nothing to say about what is asked to be off': { file: { enableSystemLogQuery: false }, expected: [] },
  'warns about each field that has no effect': {
    file: { cpuManagerPolicy: 'static', topologyManagerPolicy: 'single-numa-node' },
    expected: [
      'warning cpuManagerPolicy: has no effect in this version of Nodelet',
      'warning topologyManagerPolicy: has no effect in this version of Nodelet',
    ],
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
  'warns about a port that is not served': {
    file: { readOnlyPort: 10255 },
    expected: ['warning readOnlyPort: nothing is served there yet; what it would show is on the port of `port`'],
  },
  'serves health where it is asked to': { file: { healthzPort: 1234, healthzBindAddress: '::' }, expected: [] },
  'warns about reserved resources that are not enforced': {
    file: { enforceNodeAllocatable: ['pods', 'kube-reserved'], kubeReservedCgroup: '/kube' },
    expected: [
      'warning enforceNodeAllocatable: only pods is enforced, kube-reserved not yet',
      'warning kubeReservedCgroup: has no effect in this version of Nodelet',
    ],
  },
  'has nothing to say where nothing is to be enforced': { file: { enforceNodeAllocatable: ['none'] }, expected: [] },
  'takes the verbosity of the log': { file: { logging: { verbosity: 4 } }, expected: [] },
  'warns about a log format that has no effect': {
    file: { logging: { format: 'json', verbosity: 4 } },
    expected: ['warning logging: only the verbosity has an effect'],
  },
  'warns about each feature gate that has no effect': {
    file: { featureGates: { QOSReserved: true, EnvFiles: false } },
    expected: ['warning featureGates["QOSReserved"]: has no effect in this version of Nodelet'],
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
