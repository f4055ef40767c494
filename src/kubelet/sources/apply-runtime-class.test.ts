import assert from 'node:assert/strict';
import test from 'node:test';
import type { PodSpec, RuntimeClass } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { applyRuntimeClass } from './apply-runtime-class.ts';

const heavy: RuntimeClass = {
  metadata: { name: 'heavy' },
  handler: 'kata',
  overhead: { podFixed: { cpu: '250m', memory: '100Mi' } },
  scheduling: { nodeSelector: { vm: 'yes' } },
};
const given: Partial<PodSpec> = { runtimeClassName: 'heavy' };

const cases: Record<string, { spec: Partial<PodSpec>; classes?: readonly RuntimeClass[]; adds: Partial<PodSpec> }> = {
  'leaves a pod without a class alone': { spec: {}, adds: {} },
  'leaves a pod alone whose class is not there': { spec: { runtimeClassName: 'light' }, adds: {} },
  'leaves a pod alone whose class says nothing': {
    spec: given,
    classes: [{ metadata: { name: 'heavy' }, handler: 'kata' }],
    adds: {},
  },
  'adds overhead and nodes': {
    spec: { ...given, nodeSelector: { disk: 'ssd' } },
    adds: { overhead: { cpu: '250m', memory: '100Mi' }, nodeSelector: { disk: 'ssd', vm: 'yes' } },
  },
  'takes the same amounts, however they are written': {
    spec: { ...given, overhead: { cpu: 0.25, memory: '102400Ki' } },
    adds: { overhead: { cpu: '250m', memory: '100Mi' }, nodeSelector: { vm: 'yes' } },
  },
};

for (const [name, { spec, classes = [heavy], adds }] of Object.entries(cases)) {
  test(`applyRuntimeClass() ${name}`, () => {
    assert.deepEqual(applyRuntimeClass(examplePod({ spec }), classes), {
      pod: examplePod({ spec: { ...spec, ...adds } }),
    });
  });
}

const refusals: Record<string, { spec: Partial<PodSpec>; why: string }> = {
  'another overhead': {
    spec: { ...given, overhead: { cpu: '1' } },
    why: "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  },
  'other nodes': {
    spec: { ...given, nodeSelector: { vm: 'no' } },
    why: 'pod rejected: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
  },
};

for (const [name, { spec, why }] of Object.entries(refusals)) {
  test(`applyRuntimeClass() refuses ${name}`, () => {
    assert.deepEqual(applyRuntimeClass(examplePod({ spec }), [heavy]), {
      problem: { location: 'hello_default', message: why },
    });
  });
}
