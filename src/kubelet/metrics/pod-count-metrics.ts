import { isStaticPod } from '../../api/pod-names.ts';
import { gauge, sampled } from '../../base/metrics/declaration.ts';
import type { Metric } from '../../base/metrics/metric-registry.ts';
import type { AgentView, PodReport } from '../explain/agent-view.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { isTerminal } from '../status/pod-phase.ts';

const RUNNING_PODS = gauge('kubelet_running_pods', 'Number of pods that have a running pod sandbox');
const RUNNING_CONTAINERS = gauge('kubelet_running_containers', 'Number of containers currently running', {
  labels: ['container_state'],
});
const DESIRED = gauge(
  'kubelet_desired_pods',
  'The number of pods the kubelet is being instructed to run. static is true if the pod is not from the apiserver.',
  { labels: ['static'] },
);
const ACTIVE = gauge(
  'kubelet_active_pods',
  'The number of pods the kubelet considers active and which are being considered when admitting new pods. static is true if the pod is not from the apiserver.',
  { labels: ['static'] },
);
const MIRROR = gauge(
  'kubelet_mirror_pods',
  'The number of mirror pods the kubelet will try to create (one per admitted static pod)',
);
const WORKING = gauge(
  'kubelet_working_pods',
  'Number of pods the kubelet is actually running, broken down by lifecycle phase, whether the pod is desired, orphaned, or runtime only (also orphaned), and whether the pod is static. An orphaned pod has been removed from local configuration or force deleted in the API and consumes resources that are not otherwise visible.',
  { labels: ['lifecycle', 'config', 'static'] },
);
const EPHEMERAL = gauge(
  'kubelet_managed_ephemeral_containers',
  'Current number of ephemeral containers in pods managed by this kubelet.',
);
const PENDING_RESIZES = gauge('kubelet_pod_pending_resizes', 'Number of pending resizes for pods.', {
  labels: ['reason'],
});
const RESIZES = gauge('kubelet_pod_in_progress_resizes', 'Number of in-progress resizes for pods.');

export const POD_COUNT_DECLARATIONS = [
  RUNNING_PODS,
  RUNNING_CONTAINERS,
  DESIRED,
  ACTIVE,
  MIRROR,
  WORKING,
  EPHEMERAL,
  PENDING_RESIZES,
  RESIZES,
];

/** Counts of pods and containers, as of the scrape. */
export function podCountMetrics(view: Pick<AgentView, 'pods'>, mirrorPods: number): readonly Metric[] {
  const reports = view.pods();
  const observed = reports.flatMap((report) => report.observed ?? []);
  const desired = reports.filter((report) => !isOrphan(report));
  const active = desired.filter(({ progress, status }) => progress !== undefined && !isTerminal(status.phase));
  const ephemeral = desired.map(({ pod }) => pod.spec.ephemeralContainers?.length ?? 0);
  const running = observed.filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready));
  return [
    sampled(RUNNING_PODS, [{ value: running.length }]),
    sampled(RUNNING_CONTAINERS, containersByState(observed)),
    sampled(DESIRED, byStatic(desired)),
    sampled(ACTIVE, byStatic(active)),
    sampled(MIRROR, [{ value: mirrorPods }]),
    sampled(WORKING, workingPods(reports)),
    sampled(EPHEMERAL, [{ value: ephemeral.reduce((sum, count) => sum + count, 0) }]),
    ...resizeMetrics(reports),
  ];
}

function containersByState(observed: readonly ObservedPod[]) {
  const containers = observed.flatMap((pod) => pod.containers);
  const all = Map.groupBy(containers, ({ state }) => state);
  return [...all].map(([state, each]) => ({ labels: { container_state: state }, value: each.length }));
}

/** kubelet leaves the label empty for pods of the API server. */
function staticLabel({ pod }: PodReport): '' | 'true' {
  return isStaticPod(pod) ? 'true' : '';
}

function byStatic(reports: readonly PodReport[]) {
  return (['', 'true'] as const).map((label) => ({
    labels: { static: label },
    value: reports.filter((report) => staticLabel(report) === label).length,
  }));
}

const LIFECYCLES = ['sync', 'terminating', 'terminated'] as const;

function lifecycleOf({ worker }: PodReport): (typeof LIFECYCLES)[number] {
  switch (worker) {
    case 'waiting':
    case 'syncing':
      return 'sync';
    case 'terminating':
      return 'terminating';
    case 'terminated':
    case 'finished':
      return 'terminated';
  }
}

/** The pod was removed from its source, or was found in the runtime only. */
function isOrphan({ progress }: PodReport): boolean {
  return progress?.removed ?? false;
}

/** The agent found the pod in the runtime, without a source that has it. */
function isRuntimeOnly({ pod }: PodReport): boolean {
  return pod.spec.containers.length === 0;
}

/** Every combination of the labels that kubelet shows, also those without pods. */
function workingPods(reports: readonly PodReport[]) {
  const working = reports.filter(({ progress }) => progress !== undefined);
  const counted = Map.groupBy(working, (report) => JSON.stringify(workingLabels(report)));
  const configured = (['desired', 'orphan'] as const).flatMap((config) =>
    (['', 'true'] as const).map((label) => ({ config, static: label })),
  );
  const all = [...configured, { config: 'runtime_only', static: 'unknown' }];
  return all.flatMap((labels) =>
    LIFECYCLES.map((lifecycle) => {
      const shown = { config: labels.config, lifecycle, static: labels.static };
      return { labels: shown, value: counted.get(JSON.stringify(shown))?.length ?? 0 };
    }),
  );
}

function workingLabels(report: PodReport) {
  const lifecycle = lifecycleOf(report);
  if (isRuntimeOnly(report)) return { config: 'runtime_only', lifecycle, static: 'unknown' };
  return { config: isOrphan(report) ? 'orphan' : 'desired', lifecycle, static: staticLabel(report) };
}

function resizeMetrics(reports: readonly PodReport[]): readonly Metric[] {
  const conditions = reports.flatMap(({ status }) => status.conditions ?? []).filter(({ status }) => status === 'True');
  const pending = Map.groupBy(
    conditions.filter(({ type }) => type === 'PodResizePending'),
    ({ reason }) => (reason ?? '').toLowerCase(),
  );
  return [
    sampled(
      PENDING_RESIZES,
      [...pending].map(([reason, each]) => ({ labels: { reason }, value: each.length })),
    ),
    sampled(RESIZES, [{ value: conditions.filter(({ type }) => type === 'PodResizeInProgress').length }]),
  ];
}
