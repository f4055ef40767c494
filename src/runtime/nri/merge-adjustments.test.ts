import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerAdjustment } from './generated/nri-v1alpha1.ts';
import { mergeAdjustments } from './merge-adjustments.ts';

test('mergeAdjustments() merges two adjustments, the second taking precedence', () => {
  const first = ContainerAdjustment.fromPartial({
    annotations: { a: '1', gone: '1' },
    mounts: [{ destination: '/a' }, { destination: '/gone' }],
    env: [{ key: 'A', value: '1' }],
    hooks: { prestart: [{ path: '/1' }] },
    args: ['first'],
    rlimits: [{ type: 'RLIMIT_CORE' }],
    CDIDevices: [{ name: 'd1' }],
    linux: {
      oomScoreAdj: { value: 1n },
      resources: { memory: { limit: { value: 1n } }, cpu: { cpus: '0' }, unified: { a: '1' } },
    },
  });
  const second = ContainerAdjustment.fromPartial({
    annotations: { b: '2', '-gone': '' },
    mounts: [{ destination: '-/gone' }, { destination: '/b' }],
    env: [{ key: 'B', value: '2' }],
    hooks: { prestart: [{ path: '/2' }] },
    args: ['', 'second'],
    CDIDevices: [{ name: 'd2' }],
    linux: {
      cgroupsPath: '/b',
      resources: { memory: { swap: { value: 2n } }, cpu: { mems: '1' }, unified: { b: '2' }, pids: { limit: 5n } },
    },
  });
  const merged = ContainerAdjustment.fromPartial({
    annotations: { a: '1', b: '2', '-gone': '' },
    mounts: [{ destination: '/a' }, { destination: '-/gone' }, { destination: '/b' }],
    env: [
      { key: 'A', value: '1' },
      { key: 'B', value: '2' },
    ],
    hooks: { prestart: [{ path: '/1' }, { path: '/2' }] },
    args: ['', 'second'],
    rlimits: [{ type: 'RLIMIT_CORE' }],
    CDIDevices: [{ name: 'd1' }, { name: 'd2' }],
    linux: {
      oomScoreAdj: { value: 1n },
      cgroupsPath: '/b',
      resources: {
        memory: { limit: { value: 1n }, swap: { value: 2n } },
        cpu: { cpus: '0', mems: '1' },
        unified: { a: '1', b: '2' },
        pids: { limit: 5n },
      },
    },
  });
  assert.deepEqual(mergeAdjustments(first, second), merged);
  assert.deepEqual(mergeAdjustments(ContainerAdjustment.create(), first), first);
});
