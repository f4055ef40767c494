import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeConfig } from './merge-config.ts';
import { notHonoured } from './not-honoured.ts';
import { formatProblem } from './problem.ts';

const cases: Record<string, { file: Record<string, unknown>; told: string[] }> = {
  'has nothing to say about the defaults': { file: {}, told: [] },
  'has nothing to say about what works': { file: { maxPods: 20, clusterDNS: ['10.0.0.10'] }, told: [] },
  'has nothing to say about what is asked to be off': { file: { enableSystemLogQuery: false }, told: [] },
  'tells of each field that is asked for in vain': {
    file: { cpuManagerPolicy: 'static', topologyManagerPolicy: 'single-numa-node' },
    told: [
      'warning cpuManagerPolicy: has no effect in this version of Nodelet',
      'warning topologyManagerPolicy: has no effect in this version of Nodelet',
    ],
  },
  'tells what thresholds do and what they do not do yet': {
    file: {
      evictionHard: { 'memory.available': '1Gi' },
      evictionSoft: { 'nodefs.available': '20%' },
      evictionSoftGracePeriod: { 'nodefs.available': '1m' },
      evictionMinimumReclaim: { 'nodefs.available': '1Gi' },
      evictionMaxPodGracePeriod: 30,
      evictionPressureTransitionPeriod: '1m0s',
      mergeDefaultEvictionSettings: true,
    },
    told: [
      'warning evictionHard: node conditions and allocatable follow it; nothing is evicted yet',
      'warning evictionMaxPodGracePeriod: has no effect in this version of Nodelet: nothing is evicted yet',
      'warning evictionMinimumReclaim: node conditions follow it; nothing is evicted yet',
      'warning evictionSoft: node conditions follow it; nothing is evicted yet',
      'warning evictionSoftGracePeriod: has no effect in this version of Nodelet: nothing is evicted yet',
    ],
  },
  'tells of a port on which nothing is served': {
    file: { readOnlyPort: 10255 },
    told: ['warning readOnlyPort: nothing is served there yet; what it would show is on the port of `port`'],
  },
  'serves health where it is asked to': { file: { healthzPort: 1234, healthzBindAddress: '::' }, told: [] },
  'tells of reserved resources that are not kept from others': {
    file: { enforceNodeAllocatable: ['pods', 'kube-reserved'], kubeReservedCgroup: '/kube' },
    told: [
      'warning enforceNodeAllocatable: only pods is enforced, kube-reserved not yet',
      'warning kubeReservedCgroup: has no effect in this version of Nodelet',
    ],
  },
  'has nothing to say where nothing is to be enforced': { file: { enforceNodeAllocatable: ['none'] }, told: [] },
  'takes the verbosity of the log': { file: { logging: { verbosity: 4 } }, told: [] },
  'tells of a log that is to look different': {
    file: { logging: { format: 'json', verbosity: 4 } },
    told: ['warning logging: only the verbosity has an effect'],
  },
  'tells of each feature gate that is set in vain': {
    file: { featureGates: { MemoryQoS: true, EnvFiles: false } },
    told: ['warning featureGates["MemoryQoS"]: has no effect in this version of Nodelet'],
  },
  'refuses what containers cannot be run with': {
    file: { cgroupDriver: 'systemd', cgroupsPerQOS: false },
    told: [
      'error cgroupDriver: systemd is not supported yet, only cgroupfs',
      'error cgroupsPerQOS: false is not supported yet',
    ],
  },
};

for (const [name, { file, told }] of Object.entries(cases)) {
  test(`notHonoured() ${name}`, () => {
    const config = mergeConfig({ file: file as never, dropIns: [], flags: [] });
    assert.deepEqual(
      notHonoured(config)
        .map((problem) => `${problem.severity} ${formatProblem(problem)}`)
        .toSorted(),
      told.toSorted(),
    );
  });
}
