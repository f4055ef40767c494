import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { seriesOf } from '../../base/metrics/exposition.fixture.ts';
import type { PodReport } from '../explain/agent-view.ts';
import { observedContainer, READY_SANDBOX } from '../pod/observed-container.fixture.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { podCountMetrics } from './pod-count-metrics.ts';

const STATIC = { annotations: { 'kubernetes.io/config.source': 'file' } };
const SYNCING = {
  phaseSinceMs: 0,
  removed: false,
  nextSyncMs: undefined,
  backoffEndsMs: undefined,
  graceEndsMs: undefined,
  lastError: undefined,
};
const REMOVED = { worker: 'terminating', progress: { ...SYNCING, removed: true } } as const;

const EXITED = {
  state: 'exited',
  startedAt: 1n,
  finishedAt: 2n,
  exitCode: 1,
  reason: 'Error',
  message: '',
} as const;

interface Given extends Partial<Omit<PodReport, 'observed'>> {
  readonly observed?: Pick<ObservedPod, 'sandboxes' | 'containers'>;
}

function report({ pod = examplePod(), observed, ...rest }: Given): PodReport {
  const { uid, name, namespace = '' } = pod.metadata;
  const found = observed && { uid, name, namespace, inspectedAt: 0, ...observed };
  const base = { status: {}, worker: 'syncing', steps: [], events: [], progress: SYNCING } as const;
  return { ...base, pod, observed: found, ...rest };
}

const debugged: Pod = examplePod({ spec: { ephemeralContainers: [{ name: 'debug', image: 'i' }] } });
const resizing: PodStatus = {
  phase: 'Running',
  conditions: [
    { type: 'PodResizePending', status: 'True', reason: 'Deferred' },
    { type: 'PodResizeInProgress', status: 'True' },
  ],
};

interface Case {
  readonly given: readonly Given[];
  readonly mirrorPods?: number;
  /** All series with a value other than 0. */
  readonly series: readonly string[];
}

const cases: Record<string, Case> = {
  'no pods': { given: [], series: [] },
  'a running pod with a dead container': {
    given: [
      {
        observed: {
          sandboxes: [READY_SANDBOX, { ...READY_SANDBOX, id: 'old', ready: false }],
          containers: [
            observedContainer('web', { state: 'running', startedAt: 1n }),
            observedContainer('side', EXITED),
          ],
        },
      },
    ],
    series: [
      'kubelet_active_pods{static=""} 1',
      'kubelet_desired_pods{static=""} 1',
      'kubelet_running_containers{container_state="exited"} 1',
      'kubelet_running_containers{container_state="running"} 1',
      'kubelet_running_pods 1',
      'kubelet_working_pods{config="desired",lifecycle="sync",static=""} 1',
    ],
  },
  'a static pod that has finished, with its mirror pod': {
    given: [{ pod: examplePod({ metadata: STATIC }), status: { phase: 'Succeeded' }, worker: 'terminated' }],
    mirrorPods: 1,
    series: [
      'kubelet_desired_pods{static="true"} 1',
      'kubelet_mirror_pods 1',
      'kubelet_working_pods{config="desired",lifecycle="terminated",static="true"} 1',
    ],
  },
  'a pod that its source has removed, and one that only the runtime has': {
    given: [REMOVED, { pod: examplePod({ spec: { containers: [] } }), ...REMOVED }],
    series: [
      'kubelet_working_pods{config="orphan",lifecycle="terminating",static=""} 1',
      'kubelet_working_pods{config="runtime_only",lifecycle="terminating",static="unknown"} 1',
    ],
  },
  'ephemeral containers and resizes': {
    given: [{ pod: debugged, status: resizing }],
    series: [
      'kubelet_active_pods{static=""} 1',
      'kubelet_desired_pods{static=""} 1',
      'kubelet_managed_ephemeral_containers 1',
      'kubelet_pod_in_progress_resizes 1',
      'kubelet_pod_pending_resizes{reason="deferred"} 1',
      'kubelet_working_pods{config="desired",lifecycle="sync",static=""} 1',
    ],
  },
};

for (const [name, { given, mirrorPods = 0, series }] of Object.entries(cases)) {
  test(`podCountMetrics() of ${name}`, () => {
    const metrics = podCountMetrics({ pods: () => given.map((each) => report(each)) }, mirrorPods);
    assert.deepEqual(
      seriesOf(metrics).filter((line) => !line.endsWith(' 0')),
      series,
    );
  });
}

test('podCountMetrics() shows kubelet’s zeros', () =>
  assert.deepEqual(seriesOf(podCountMetrics({ pods: () => [] }, 0)), [
    'kubelet_active_pods{static=""} 0',
    'kubelet_active_pods{static="true"} 0',
    'kubelet_desired_pods{static=""} 0',
    'kubelet_desired_pods{static="true"} 0',
    'kubelet_managed_ephemeral_containers 0',
    'kubelet_mirror_pods 0',
    'kubelet_pod_in_progress_resizes 0',
    'kubelet_running_pods 0',
    ...['desired', 'orphan'].flatMap((config) =>
      ['sync', 'terminated', 'terminating'].flatMap((lifecycle) =>
        ['', 'true'].map(
          (label) => `kubelet_working_pods{config="${config}",lifecycle="${lifecycle}",static="${label}"} 0`,
        ),
      ),
    ),
    ...['sync', 'terminated', 'terminating'].map(
      (lifecycle) => `kubelet_working_pods{config="runtime_only",lifecycle="${lifecycle}",static="unknown"} 0`,
    ),
  ]));
