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
  'does not change a pod without a class': { spec: {}, adds: {} },
  'does not change a pod whose class is missing': { spec: { runtimeClassName: 'light' }, adds: {} },
  'does not change a pod whose class is empty': {
    spec: given,
    classes: [{ metadata: { name: 'heavy' }, handler: 'kata' }],
    adds: {},
  },
  'adds overhead and node selector': {
    spec: { ...given, nodeSelector: { disk: 'ssd' } },
    adds: { overhead: { cpu: '250m', memory: '100Mi' }, nodeSelector: { disk: 'ssd', vm: 'yes' } },
  },
  'accepts equal quantities in different notation': {
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

const rejections: Record<string, { spec: Partial<PodSpec>; message: string }> = {
  'a different overhead': {
    spec: { ...given, overhead: { cpu: '1' } },
    message: "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  },
  'a conflicting node selector': {
    spec: { ...given, nodeSelector: { vm: 'no' } },
    message: 'pod rejected: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
  },
};

for (const [name, { spec, message }] of Object.entries(rejections)) {
  test(`applyRuntimeClass() rejects ${name}`, () => {
    assert.deepEqual(applyRuntimeClass(examplePod({ spec }), [heavy]), {
      error: { location: 'hello_default', message },
    });
  });
}
