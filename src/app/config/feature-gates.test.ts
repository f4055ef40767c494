import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GateSettings, resolveFeatureGates } from './feature-gates.ts';
import { FEATURE_GATES } from './generated/feature-gates.ts';

const DEFAULTS = Object.fromEntries([...FEATURE_GATES].map(([name, spec]) => [name, spec.default]));

function gatesOf(stage: string, value: boolean): GateSettings {
  const names = [...FEATURE_GATES].filter(
    ([name, spec]) => spec.stage === stage && !['AllAlpha', 'AllBeta'].includes(name),
  );
  return Object.fromEntries(names.map(([name]) => [name, value]));
}

test('resolveFeatureGates() has nothing to say about the defaults', () => {
  const { gates, diagnostics } = resolveFeatureGates({});
  assert.deepEqual({ gates: Object.fromEntries(gates), diagnostics }, { gates: DEFAULTS, diagnostics: [] });
});

const values: Record<string, { set: GateSettings; changed: GateSettings }> = {
  'turns a gate on': { set: { MemoryQoS: true }, changed: { MemoryQoS: true } },
  'turns every alpha gate on': { set: { AllAlpha: true }, changed: { AllAlpha: true, ...gatesOf('ALPHA', true) } },
  'turns every beta gate off': { set: { AllBeta: false }, changed: gatesOf('BETA', false) },
  'lets a gate of its own win over its stage': {
    set: { AllAlpha: true, EventedPLEG: false },
    changed: { AllAlpha: true, ...gatesOf('ALPHA', true), EventedPLEG: false },
  },
  'keeps the default of a gate that cannot be set': { set: { NodeSwap: false }, changed: {} },
};

for (const [name, { set, changed }] of Object.entries(values)) {
  test(`resolveFeatureGates() ${name}`, () => {
    assert.deepEqual(Object.fromEntries(resolveFeatureGates(set).gates), { ...DEFAULTS, ...changed });
  });
}

const diagnostics: Record<string, { set: GateSettings; expected: string[] }> = {
  'takes a gate of its own in silence': { set: { MemoryQoS: true, AllBeta: true }, expected: [] },
  'refuses a gate that it does not know': {
    set: { Bogus: true },
    expected: ['error featureGates["Bogus"]: unrecognized feature gate: Bogus'],
  },
  'names the gate that was meant': {
    set: { memoryQOS: true },
    expected: ['error featureGates["memoryQOS"]: unrecognized feature gate: memoryQOS; did you mean "MemoryQoS"?'],
  },
  'refuses the other value of a locked gate': {
    set: { SidecarContainers: false },
    expected: [
      'error featureGates["SidecarContainers"]: cannot set feature gate SidecarContainers to false, feature is locked to true',
    ],
  },
  'warns of a locked gate at its value': {
    set: { SidecarContainers: true },
    expected: [
      'warning featureGates["SidecarContainers"]: setting GA feature gate SidecarContainers=true; it will be removed in a future release',
    ],
  },
  'warns of a deprecated gate': {
    set: { KubeletRegistrationGetOnExistsOnly: true },
    expected: [
      'warning featureGates["KubeletRegistrationGetOnExistsOnly"]: setting deprecated feature gate KubeletRegistrationGetOnExistsOnly=true; it will be removed in a future release',
    ],
  },
  'warns of a gate of another component': {
    set: { SchedulerAsyncAPICalls: true },
    expected: [
      'warning featureGates["SchedulerAsyncAPICalls"]: feature gate SchedulerAsyncAPICalls has no meaning in Nodelet and is ignored',
    ],
  },
  'does not warn of a gate of another component that a gate of the node needs': {
    set: { ClusterTrustBundle: true, ClusterTrustBundleProjection: true },
    expected: [],
  },
  'refuses a gate without what it needs': {
    set: { GracefulNodeShutdown: false, WindowsGracefulNodeShutdown: false },
    expected: [
      'warning featureGates["WindowsGracefulNodeShutdown"]: feature gate WindowsGracefulNodeShutdown has no meaning in Nodelet and is ignored',
      'error featureGates["GracefulNodeShutdownBasedOnPodPriority"]: GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: [GracefulNodeShutdown]',
    ],
  },
};

for (const [name, { set, expected }] of Object.entries(diagnostics)) {
  test(`resolveFeatureGates() ${name}`, () => {
    const { diagnostics: found } = resolveFeatureGates(set);
    assert.deepEqual(
      found.map(({ severity, path, message }) => `${severity} ${path}: ${message}`),
      expected,
    );
  });
}
