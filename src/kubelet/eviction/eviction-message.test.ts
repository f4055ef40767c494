import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity } from '../../base/quantity.ts';
import type { PressureThreshold, SignalReadings } from '../node/signals/pressure-signal.ts';
import { evictionMessage } from './eviction-message.ts';
import { apiPod, podStats } from './fake-pods.fixture.ts';

const MIB = 2 ** 20;
const memory: PressureThreshold = {
  signal: 'memory.available',
  value: { quantity: parseQuantity('100Mi') },
  gracePeriodMs: 0,
};
const inodes: PressureThreshold = { signal: 'nodefs.inodesFree', value: { fraction: 0.5 }, gracePeriodMs: 0 };
const readings: SignalReadings = new Map([
  ['memory.available', { available: BigInt(50 * MIB), capacity: BigInt(1000 * MIB) }],
  ['nodefs.inodesFree', { available: 3000n, capacity: 4096n * 2n }],
]);

test('evictionMessage() names the threshold and the containers over their request', () => {
  const pod = apiPod('web', {}, { resources: { requests: { memory: '10Mi' } } });
  assert.deepEqual(evictionMessage('memory', pod, podStats(pod, { memory: 20 * MIB }), { due: [memory], readings }), {
    message:
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
      'Container main was using 20Mi, request is 10Mi, has larger consumption of memory. ',
    annotations: {
      offending_containers: 'main',
      offending_containers_usage: '20Mi',
      starved_resource: 'memory',
    },
    crossed: { threshold: '100Mi', available: '50Mi' },
  });
});

test('evictionMessage() names the pod if it has a request of its own', () => {
  const pod = apiPod('web', { resources: { requests: { memory: '5Mi' } } });
  const { message, annotations } = evictionMessage('memory', pod, podStats(pod, { memory: 20 * MIB }), {
    due: [memory],
    readings,
  });
  assert.equal(
    message,
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
      'Pod web was using 20Mi, request is 5Mi, has larger consumption of memory. ' +
      'Container main was using 20Mi, request is 0, has larger consumption of memory. ',
  );
  assert.equal(annotations['offending_pod'], 'web');
  assert.equal(annotations['offending_pod_usage'], '20Mi');
});

test('evictionMessage() counts layer and log of containers, and not inodes', () => {
  const pod = apiPod('web');
  const stats = podStats(pod, { root: 2048, logs: 1024 });
  const disk: PressureThreshold = { ...memory, signal: 'imagefs.available' };
  const none = { due: [disk], readings };
  assert.equal(
    evictionMessage('ephemeral-storage', pod, stats, none).message,
    'The node was low on resource: ephemeral-storage. Container main was using 3Ki, request is 0, has larger consumption of ephemeral-storage. ',
  );
  const { message, annotations } = evictionMessage('inodes', pod, stats, { due: [inodes], readings });
  assert.equal(message, 'The node was low on resource: inodes. Threshold quantity: 4Ki, available: 3k. ');
  assert.deepEqual(annotations, {
    offending_containers: '',
    offending_containers_usage: '',
    starved_resource: 'inodes',
  });
});

test('evictionMessage() has no annotations for a pod without figures', () => {
  const { message, annotations } = evictionMessage('pids', apiPod('web'), undefined, { due: [], readings });
  assert.equal(message, 'The node was low on resource: pids. ');
  assert.deepEqual(annotations, {});
});
