import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import type { DiskLayout } from '../node/signals/disk-layout.ts';
import type { PressureSignal } from '../node/signals/pressure-signal.ts';
import { apiPod, type PodFigures, podStats } from './fake-pods.fixture.ts';
import { rankPods } from './rank-pods.ts';

type Ranked = readonly [pod: Pod, figures: PodFigures | undefined];

function rank(signal: PressureSignal, pods: readonly Ranked[], layout: DiskLayout = 'single'): string {
  const stats = new Map(pods.map(([pod, figures]) => [pod, figures && podStats(pod, figures)]));
  const ranked = rankPods(
    signal,
    pods.map(([pod]) => pod),
    (pod) => stats.get(pod),
    layout,
  );
  return ranked.map(({ metadata }) => metadata.name).join(' ');
}

const asking = (name: string, resource: string, amount: string, spec: Partial<Pod['spec']> = {}): Pod =>
  apiPod(name, spec, { resources: { requests: { [resource]: amount } } });
const emptyDir = (name: string): Pod => apiPod(name, { volumes: [{ name: 'data', emptyDir: {} }] });

const cases: Record<string, { order: string; wanted: string }> = {
  'memory: pods over their request before others, whatever the priority': {
    order: rank('memory.available', [
      [asking('within', 'memory', '200', { priority: -5 }), { memory: 150 }],
      [asking('over', 'memory', '10', { priority: 1000 }), { memory: 50 }],
    ]),
    wanted: 'over within',
  },
  'memory: then by priority': {
    order: rank('allocatableMemory.available', [
      [apiPod('high', { priority: 10 }), { memory: 900 }],
      [apiPod('low', { priority: 1 }), { memory: 1 }],
      [apiPod('none'), { memory: 1 }],
    ]),
    wanted: 'none low high',
  },
  'memory: then by usage over the request': {
    order: rank('memory.available', [
      [asking('large', 'memory', '900'), { memory: 1000 }],
      [asking('greedy', 'memory', '1'), { memory: 500 }],
    ]),
    wanted: 'greedy large',
  },
  'memory: overhead counts with a request only': {
    order: rank('memory.available', [
      [asking('asks', 'memory', '100', { overhead: { memory: '100' } }), { memory: 150 }],
      [apiPod('asksNothing', { overhead: { memory: '100' } }), { memory: 50 }],
    ]),
    wanted: 'asksNothing asks',
  },
  'memory: resources of the pod replace those of its containers': {
    order: rank('memory.available', [
      [asking('whole', 'memory', '1', { resources: { requests: { memory: '200' } } }), { memory: 150 }],
      [asking('parts', 'memory', '100'), { memory: 110 }],
    ]),
    wanted: 'parts whole',
  },
  'pods without figures come first': {
    order: rank('memory.available', [
      [apiPod('known'), { memory: 1000 }],
      [apiPod('unknown', { priority: 1000 }), undefined],
    ]),
    wanted: 'unknown known',
  },
  'processes: by priority, then by number': {
    order: rank('pid.available', [
      [apiPod('few'), { processes: 3 }],
      [apiPod('many'), { processes: 30 }],
      [apiPod('important', { priority: 1 }), { processes: 300 }],
    ]),
    wanted: 'many few important',
  },
  'a single disk: layers, logs and volumes on the node count': {
    order: rank('nodefs.available', [
      [apiPod('layer'), { root: 30 }],
      [apiPod('log'), { logs: 40 }],
      [emptyDir('volume'), { volumes: { data: 50 } }],
      [apiPod('network'), { volumes: { data: 60 } }],
    ]),
    wanted: 'volume log layer network',
  },
  'images on their own disk: the node has logs and volumes': {
    order: rank(
      'nodefs.inodesFree',
      [
        [apiPod('layer'), { root: 90 }],
        [apiPod('log'), { logs: 40 }],
      ],
      'dedicatedImages',
    ),
    wanted: 'log layer',
  },
  'images on their own disk: theirs has layers': {
    order: rank(
      'imagefs.available',
      [
        [apiPod('log'), { logs: 40 }],
        [apiPod('layer'), { root: 30 }],
      ],
      'dedicatedImages',
    ),
    wanted: 'layer log',
  },
  'split disks: images are of no pod': {
    order: rank(
      'imagefs.available',
      [
        [apiPod('log'), { logs: 40 }],
        [apiPod('layer'), { root: 90 }],
      ],
      'split',
    ),
    wanted: 'log layer',
  },
  'split disks: layers are on the disk of the node': {
    order: rank(
      'containerfs.available',
      [
        [apiPod('log'), { logs: 40 }],
        [apiPod('layer'), { root: 90 }],
      ],
      'split',
    ),
    wanted: 'layer log',
  },
  'disks: the request for storage': {
    order: rank('nodefs.available', [
      [asking('asked', 'ephemeral-storage', '1k'), { root: 900 }],
      [apiPod('asksNothing'), { root: 10 }],
    ]),
    wanted: 'asksNothing asked',
  },
};

for (const [name, { order, wanted }] of Object.entries(cases)) {
  test(`rankPods() ${name}`, () => assert.equal(order, wanted));
}
