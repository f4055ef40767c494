import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, ContainerStatus } from '../../api/generated/core-v1.ts';
import { observedContainer } from '../pod/observed-container.fixture.ts';
import type { ProbeKind, ProbeResult } from '../probes/probe-results.ts';
import { containerStatus } from './container-status.ts';
import { podStatusView } from './pod-status-view.fixture.ts';
import type { PodStatusView } from './pod-status-view.ts';

const running = observedContainer('web', { state: 'running', startedAt: 2n });

const ready: ContainerStatus = {
  name: 'web',
  image: 'busybox',
  imageID: 'sha256:1',
  containerID: 'containerd://web-0',
  state: { running: {} },
  restartCount: 0,
  ready: true,
  started: true,
};

function podView(container: Container, results: Partial<Record<ProbeKind, ProbeResult>>): PodStatusView {
  return podStatusView({
    pod: { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec: { containers: [container] } },
    probes: { result: (kind, id) => (id === 'web-0' ? results[kind] : undefined) },
  });
}

interface ProbedCase {
  readonly probes: readonly ('startupProbe' | 'readinessProbe')[];
  readonly results: Partial<Record<ProbeKind, ProbeResult>>;
  readonly previous?: ContainerStatus;
  readonly expected: readonly [started: boolean, ready: boolean];
}

const both = ['startupProbe', 'readinessProbe'] as const;
const before: ContainerStatus = { ...ready, containerID: 'containerd://web-old' };

const probed: Record<string, ProbedCase> = {
  starts: { probes: both, results: { startup: 'unknown', readiness: 'failure' }, expected: [false, false] },
  'has started': { probes: both, results: { startup: 'success', readiness: 'failure' }, expected: [true, false] },
  'could not start': { probes: both, results: { startup: 'failure' }, expected: [false, false] },
  'is ready': { probes: both, results: { startup: 'success', readiness: 'success' }, expected: [true, true] },
  'was ready': {
    probes: both,
    results: { startup: 'success', readiness: 'failure' },
    previous: ready,
    expected: [true, false],
  },
  'has a startup probe only': { probes: ['startupProbe'], results: { startup: 'success' }, expected: [true, true] },
  'is new': { probes: ['readinessProbe'], results: {}, expected: [true, false] },
  'was ready before the agent restarted': { probes: both, results: {}, previous: ready, expected: [true, true] },
  'follows one that was ready': { probes: both, results: {}, previous: before, expected: [false, false] },
};

for (const [name, { probes, results, previous, expected }] of Object.entries(probed)) {
  test(`containerStatus() of a running container that ${name}`, () => {
    const probe = { exec: { command: ['true'] } };
    const container: Container = { name: 'web', ...Object.fromEntries(probes.map((kind) => [kind, probe])) };
    const pod = podView(container, results);
    const status = containerStatus({
      container,
      kind: 'regular',
      previous,
      instances: [running],
      restartingAll: false,
      pod,
    });
    assert.deepEqual([status.started, status.ready], expected);
  });
}
