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
