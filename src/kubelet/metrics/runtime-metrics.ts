import { tracingChannel } from 'node:diagnostics_channel';
import { counter, gauge, histogram } from '../../base/metrics/declaration.ts';
import { exponentialBuckets, type MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { CriError } from '../../cri/cri-error.ts';
import { RunPodSandboxRequest } from '../../cri/generated/runtime-v1.ts';
import { RPC_CHANNEL, type RpcTrace } from '../../cri/instrument.ts';
import type { Clock } from '../../host/clock.ts';

const OPERATIONS = counter(
  'kubelet_runtime_operations_total',
  'Cumulative number of runtime operations by operation type.',
  { labels: ['operation_type'] },
);
const OPERATION_DURATION = histogram(
  'kubelet_runtime_operations_duration_seconds',
  'Duration in seconds of runtime operations. Broken down by operation type.',
  { labels: ['operation_type'], buckets: exponentialBuckets(0.005, 2.5, 14) },
);
const OPERATION_ERRORS = counter(
  'kubelet_runtime_operations_errors_total',
  'Cumulative number of runtime operation errors by operation type.',
  { labels: ['operation_type'] },
);
const SANDBOX_DURATION = histogram(
  'kubelet_run_podsandbox_duration_seconds',
  'Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.',
  { labels: ['runtime_handler'] },
);
const SANDBOX_ERRORS = counter(
  'kubelet_run_podsandbox_errors_total',
  'Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.',
  { labels: ['runtime_handler'] },
);

const LOSING_SUPPORT = gauge(
  'kubelet_cri_losing_support',
  'the Kubernetes version that the currently running CRI implementation will lose support on if not upgraded.',
  { labels: ['version'] },
);

/** The first version whose kubelet needs a runtime that reports its cgroup driver. */
const CGROUP_DRIVER_REQUIRED_SINCE = '1.37.0';

/** kubelet's names of RPCs that are not those of the protocol in snake case. */
const OPERATION_TYPES: Readonly<Record<string, string>> = {
  ListPodSandbox: 'list_podsandbox',
  RunPodSandbox: 'run_podsandbox',
  StopPodSandbox: 'stop_podsandbox',
  RemovePodSandbox: 'remove_podsandbox',
  PodSandboxStatus: 'podsandbox_status',
  PodSandboxStats: 'podsandbox_stats',
  ListPodSandboxStats: 'list_podsandbox_stats',
  ListPodSandboxMetrics: 'list_podsandbox_metrics',
  UpdatePodSandboxResources: 'update_podsandbox_resources',
  UpdateContainerResources: 'update_container',
};

/** The label of an RPC: `RunPodSandbox` is `run_podsandbox`. */
export function operationType(method: string): string {
  return OPERATION_TYPES[method] ?? method.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

/** Counts the calls of the runtime that `instrument` publishes. */
export function observeRuntime(registry: MetricRegistry, clock: Pick<Clock, 'monotonic'>): () => void {
  const operations = registry.counter(OPERATIONS);
  const operationDuration = registry.histogram(OPERATION_DURATION);
  const operationErrors = registry.counter(OPERATION_ERRORS);
  const sandboxDuration = registry.histogram(SANDBOX_DURATION);
  const sandboxErrors = registry.counter(SANDBOX_ERRORS);
  const losingSupport = registry.gauge(LOSING_SUPPORT);
  const started = new WeakMap<object, number>();

  const onEnd = (trace: RpcTrace): void => {
    const seconds = (clock.monotonic() - (started.get(trace) ?? clock.monotonic())) / 1000;
    const labels = { operation_type: operationType(trace.method) };
    operations.increment(labels);
    operationDuration.observe(seconds, labels);
    if (trace.method === 'RunPodSandbox') sandboxDuration.observe(seconds, handlerOf(trace));
  };
  const onError = (trace: RpcTrace): void => {
    operationErrors.increment({ operation_type: operationType(trace.method) });
    if (trace.method === 'RunPodSandbox') sandboxErrors.increment(handlerOf(trace));
    if (trace.method === 'RuntimeConfig' && isUnimplemented(trace.error)) {
      losingSupport.set(1, { version: CGROUP_DRIVER_REQUIRED_SINCE });
    }
  };
  const subscribers = {
    start: (trace: object) => void started.set(trace, clock.monotonic()),
    end: () => undefined,
    asyncStart: () => undefined,
    asyncEnd: (trace: object) => onEnd(trace as RpcTrace),
    error: (trace: object) => onError(trace as RpcTrace),
  };
  const channel = tracingChannel<object>(RPC_CHANNEL);
  channel.subscribe(subscribers);
  return () => void channel.unsubscribe(subscribers);
}

function isUnimplemented(error: unknown): boolean {
  return error instanceof CriError && error.code === 'Unimplemented';
}

function handlerOf({ request }: RpcTrace): { readonly runtime_handler: string } {
  const { runtimeHandler } = RunPodSandboxRequest.fromPartial(request as Partial<RunPodSandboxRequest>);
  return { runtime_handler: runtimeHandler };
}
