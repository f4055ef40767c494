import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { Container, PodSpec } from '../../api/generated/core-v1.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { oomScoreAdj } from './oom-score.ts';

const GIB = 1024 ** 3;

function asking(name: string, memory: string): Container {
  return { name, image: 'busybox', resources: { requests: { memory } } };
}

const sidecar = { ...asking('side', '1Mi'), restartPolicy: 'Always' };

const cases: Record<string, { spec: Partial<PodSpec>; of: string; source?: string; score: number }> = {
  'kills containers without requests first': { spec: {}, of: 'web', score: 1000 },
  'spares containers with large requests': { spec: { containers: [asking('web', '512Mi')] }, of: 'web', score: 500 },
  'keeps Burstable pods behind BestEffort ones': { spec: { containers: [asking('web', '1')] }, of: 'web', score: 999 },
  'keeps Burstable pods before Guaranteed ones': { spec: { containers: [asking('web', '1Gi')] }, of: 'web', score: 3 },
  'never kills a sidecar before the containers that it serves': {
    spec: { containers: [asking('web', '256Mi'), asking('db', '512Mi')], initContainers: [sidecar] },
    of: 'side',
    score: 750,
  },
  'splits the pod-level request beyond the containers’': {
    spec: { containers: [asking('web', '256Mi'), asking('db', '256Mi')], resources: { requests: { memory: '1Gi' } } },
    of: 'web',
    score: 500,
  },
  'spares critical pods': {
    spec: { priorityClassName: 'system-node-critical' },
    source: 'file',
    of: 'web',
    score: -997,
  },
  'treats only static or high-priority pods as critical': {
    spec: { priorityClassName: 'system-node-critical' },
    source: 'api',
    of: 'web',
    score: 1000,
  },
};

for (const [name, { spec, of, source, score }] of Object.entries(cases)) {
  test(`oomScoreAdj() ${name}`, () => {
    const annotations = source === undefined ? {} : { 'kubernetes.io/config.source': source };
    const pod = examplePod({ spec, metadata: { annotations } });
    const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
    const container = all.find((each) => each.name === of);
    assert.ok(container);
    assert.equal(oomScoreAdj(pod, container, GIB), score);
  });
}

test('oomScoreAdj() never grows with the request, and stays between the classes', () => {
  const amounts = fc.tuple(fc.integer({ min: 1, max: 4 * GIB }), fc.integer({ min: 1, max: 4 * GIB }));
  fc.assert(
    fc.property(amounts, ([a, b]) => {
      const score = (bytes: number) => {
        const container = asking('web', String(bytes));
        return oomScoreAdj(examplePod({ spec: { containers: [container] } }), container, GIB);
      };
      assert.ok(score(Math.max(a, b)) <= score(Math.min(a, b)));
      assert.ok(score(a) >= 3 && score(a) <= 999);
    }),
  );
});
