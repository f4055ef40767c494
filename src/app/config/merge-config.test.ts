import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import table from '../../../compat/kubeletconfiguration-defaults.json' with { type: 'json' };
import { withDefaults } from './apply-defaults.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import type { JsonObject } from './json-value.ts';
import { type ConfigLayers, mergeConfig, mergePatch } from './merge-config.ts';

const EMPTY: ConfigLayers = { file: {}, dropIns: [], flags: [] };
const DEFAULTS = mergeConfig(EMPTY);

test('mergeConfig() returns the defaults of Kubernetes for an empty configuration, except that cgroup v1 is allowed', () => {
  const logging = { ...table.logging, verbosity: 0 }; // what the table has is what units ask for
  assert.deepEqual(DEFAULTS, { ...table, logging, failCgroupV1: false });
});

test('mergeConfig() freezes all of it', () => {
  assert.ok(Object.isFrozen(DEFAULTS) && Object.isFrozen(DEFAULTS.authentication.webhook));
});

const cases: Record<string, { given: Partial<ConfigLayers>; changed: Partial<KubeletConfiguration> }> = {
  'lets the file win over the defaults': {
    given: { file: { maxPods: 5, logging: { format: 'json' } } },
    changed: { maxPods: 5, logging: { ...DEFAULTS.logging, format: 'json' } },
  },
  'treats zero as unset where Go cannot distinguish them': {
    given: { file: { maxPods: 0, syncFrequency: '0s', address: '', readOnlyPort: 0, rotateCertificates: false } },
    changed: {},
  },
  'keeps a text that looks like no time': {
    given: { file: { clusterDomain: '0s' } },
    changed: { clusterDomain: '0s' },
  },
  'keeps zero where it says something': {
    given: { file: { healthzPort: 0, resolvConf: '', registerNode: false } },
    changed: { healthzPort: 0, resolvConf: '', registerNode: false },
  },
  'takes null in the file for absence': { given: { file: { maxPods: null, evictionHard: null } }, changed: {} },
  'replaces hard evictions as a whole': {
    given: { file: { evictionHard: { 'memory.available': '1Gi' } } },
    changed: { evictionHard: { 'memory.available': '1Gi' } },
  },
  'keeps the other hard evictions when the file asks for it': {
    given: { file: { evictionHard: { 'memory.available': '1Gi' }, mergeDefaultEvictionSettings: true } },
    changed: {
      evictionHard: { ...DEFAULTS.evictionHard, 'memory.available': '1Gi' },
      mergeDefaultEvictionSettings: true,
    },
  },
  'lets parallel pulls turn serial ones off': {
    given: { file: { maxParallelImagePulls: 3 } },
    changed: { maxParallelImagePulls: 3, serializeImagePulls: false },
  },
  'reports the status as often as it is computed, when that is said': {
    given: { file: { nodeStatusUpdateFrequency: '30s' } },
    changed: { nodeStatusUpdateFrequency: '30s', nodeStatusReportFrequency: '30s' },
  },
  'takes any negative limit of processes for none': { given: { file: { podPidsLimit: -7 } }, changed: {} },
  'leaves out the default of a gate that is off': {
    given: { file: { featureGates: { KubeletCrashLoopBackOffMax: false } } },
    changed: { featureGates: { KubeletCrashLoopBackOffMax: false }, crashLoopBackOff: {} },
  },
  'merges maps of drop-ins, and replaces lists': {
    given: {
      file: { evictionHard: { 'memory.available': '1Gi' }, clusterDNS: ['10.0.0.1', '10.0.0.2'] },
      dropIns: [{ evictionHard: { 'nodefs.available': '20%' }, clusterDNS: ['10.0.0.3'] }, { maxPods: 9 }],
    },
    changed: {
      evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '20%' },
      clusterDNS: ['10.0.0.3'],
      maxPods: 9,
    },
  },
  'lets the later drop-in win, and null bring the default back': {
    given: { file: { maxPods: 1, port: 1 }, dropIns: [{ maxPods: 2 }, { maxPods: 3 }, { port: null }] },
    changed: { maxPods: 3 },
  },
  'merges drop-ins into the default evictions': {
    given: { dropIns: [{ evictionHard: { 'memory.available': '1Gi', 'nodefs.available': null } }] },
    changed: {
      evictionHard: {
        'imagefs.available': '15%',
        'imagefs.inodesFree': '5%',
        'memory.available': '1Gi',
        'nodefs.inodesFree': '5%',
      },
    },
  },
  'lets flags win over everything, whole maps included': {
    given: {
      file: { maxPods: 1, systemReserved: { cpu: '1' } },
      dropIns: [{ maxPods: 2 }],
      flags: [
        { path: ['maxPods'], value: 3 },
        { path: ['systemReserved'], value: { memory: '1Gi' } },
        { path: ['authentication', 'anonymous', 'enabled'], value: true },
      ],
    },
    changed: {
      maxPods: 3,
      systemReserved: { memory: '1Gi' },
      authentication: { ...DEFAULTS.authentication, anonymous: { enabled: true } },
    },
  },
  'lets a flag set zero': { given: { flags: [{ path: ['maxPods'], value: 0 }] }, changed: { maxPods: 0 } },
  'merges the feature gates of flags with those of files': {
    given: {
      file: { featureGates: { MemoryQoS: true, QOSReserved: false } },
      flags: [{ path: ['featureGates'], value: { QOSReserved: true } }],
    },
    changed: { featureGates: { MemoryQoS: true, QOSReserved: true } },
  },
};

for (const [name, { given, changed }] of Object.entries(cases)) {
  test(`mergeConfig() ${name}`, () => {
    assert.deepEqual(mergeConfig({ ...EMPTY, ...given }), { ...DEFAULTS, ...changed });
  });
}

const jsonObject = fc.letrec<{ object: JsonObject }>((tie) => ({
  object: fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.oneof({ maxDepth: 3 }, fc.integer(), fc.constant(null), fc.array(fc.string()), tie('object')),
  ),
})).object;

test('mergePatch() does nothing more the second time', () => {
  fc.assert(
    fc.property(jsonObject, jsonObject, (base, patch) => {
      const once = mergePatch(base, patch);
      assert.deepEqual(mergePatch(once, patch), once);
    }),
  );
});

test('withDefaults() does nothing more the second time', () => {
  const sparse = fc.record(
    {
      maxPods: fc.integer({ min: -1, max: 3 }),
      podPidsLimit: fc.integer({ min: -3, max: 3 }),
      maxParallelImagePulls: fc.integer({ min: 0, max: 3 }),
      nodeStatusUpdateFrequency: fc.constantFrom('0s', '10s', '1m0s'),
      resolvConf: fc.constantFrom('', '/r'),
      enforceNodeAllocatable: fc.array(fc.string()),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(sparse, fc.boolean(), (config, isOn) => {
      const once = withDefaults(config, () => isOn);
      assert.deepEqual(
        withDefaults(once, () => isOn),
        once,
      );
    }),
  );
});
