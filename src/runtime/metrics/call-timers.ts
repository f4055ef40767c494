import { DEFAULT_BUCKETS, type Declaration } from '../../base/metrics/declaration.ts';
import type { CounterFamily, HistogramFamily } from '../../base/metrics/metric-family.ts';
import { MetricRegistry } from '../../base/metrics/metric-registry.ts';

const THROUGHPUT_BUCKETS = [0.1, 1, 10, 25, 75, 150, 300, 500, 1000, 2000, 4000];
const BYTES_PER_MIB = 1024 * 1024;

// The metrics of containerd have no stability level.
type Timer<Label extends string> = Declaration<'histogram', Label>;

function timer<const Label extends string = never>(
  name: string,
  help: string,
  labels?: readonly Label[],
): Timer<Label> {
  const shown = `containerd_cri_${name}_seconds`;
  return { type: 'histogram', name: shown, help, buckets: DEFAULT_BUCKETS, ...(labels && { labels }) };
}

/** containerd's timers by CRI method. */
const PLAIN_CALLS: ReadonlyMap<string, Timer<never>> = new Map([
  ['ListPodSandbox', timer('sandbox_list', 'time to list sandboxes')],
  ['StreamPodSandboxes', timer('stream_sandbox_list', 'time to stream sandboxes')],
  ['ListContainers', timer('container_list', 'time to list containers')],
  ['StreamContainers', timer('stream_container_list', 'time to stream containers')],
]);

/** The same, by the OCI runtime. */
const CALLS_OF_RUNTIMES: ReadonlyMap<string, Timer<'runtime'>> = new Map([
  ['RunPodSandbox', timer('sandbox_runtime_create', 'time to create a sandbox in the runtime', ['runtime'])],
  ['StopPodSandbox', timer('sandbox_runtime_stop', 'time to stop a sandbox', ['runtime'])],
  ['RemovePodSandbox', timer('sandbox_remove', 'time to remove a sandbox', ['runtime'])],
  ['CreateContainer', timer('container_create', 'time to create a container', ['runtime'])],
  ['StartContainer', timer('container_start', 'time to start a container', ['runtime'])],
  ['StopContainer', timer('container_stop', 'time to stop a container', ['runtime'])],
  ['RemoveContainer', timer('container_remove', 'time to remove a container', ['runtime'])],
  ['CheckpointContainer', timer('container_checkpoint', 'time to checkpoint a container', ['runtime'])],
]);

const CREATE_NETWORK = timer('sandbox_create_network', 'time to create the network for a sandbox');
const DELETE_NETWORK = timer('sandbox_delete_network', "time to delete a sandbox's network");
const OPERATION_SECONDS = timer(
  'network_plugin_operations_duration_seconds',
  'latency in seconds of network plugin operations. Broken down by operation type',
  ['operation_type'],
);
// containerd's library appends the unit once more.
const OPERATIONS = operationCounter('containerd_cri_network_plugin_operations_total_total');
const OPERATION_ERRORS = operationCounter('containerd_cri_network_plugin_operations_errors_total_total');
const PULLS: Declaration<'counter', 'status'> = {
  type: 'counter',
  name: 'containerd_cri_sandboxed_image_pulls_total',
  help: 'succeeded and failed counters',
  labels: ['status'],
};
const PULLS_IN_PROGRESS: Declaration<'gauge', never> = {
  type: 'gauge',
  name: 'containerd_cri_sandboxed_in_progress_image_pulls_total',
  help: 'in progress pulls',
};
const THROUGHPUTS: readonly Declaration<'histogram', never>[] = [
  {
    type: 'histogram',
    name: 'containerd_cri_sandboxed_image_pulling_throughput',
    help: 'Deprecated: use image_pulling_throughput_mibps instead. Image pull throughput in MiB/s (fetched bytes / pull duration; cached layers excluded).',
    buckets: DEFAULT_BUCKETS,
  },
  {
    type: 'histogram',
    name: 'containerd_cri_sandboxed_image_pulling_throughput_mibps',
    help: 'image pull throughput in MiB/s (fetched bytes / pull duration; cached layers excluded)',
    buckets: THROUGHPUT_BUCKETS,
  },
];

function operationCounter(name: string): Declaration<'counter', 'operation_type'> {
  const help = 'cumulative number of network plugin operations by operation type';
  return { type: 'counter', name, help, labels: ['operation_type'] };
}

/** Values of the label `operation_type`, which are those of dockershim. */
export type NetworkOperation = 'set_up_pod' | 'tear_down_pod';

/** The metrics, each declared once. */
export class CallTimers {
  readonly registry = new MetricRegistry();
  readonly #plainCalls = this.#timers(PLAIN_CALLS);
  readonly #callsOfRuntimes = this.#timers(CALLS_OF_RUNTIMES);
  readonly #createNetwork = this.registry.histogram(CREATE_NETWORK);
  readonly #deleteNetwork = this.registry.histogram(DELETE_NETWORK);
  readonly #operations: CounterFamily<'operation_type'> = this.registry.counter(OPERATIONS);
  readonly #operationErrors: CounterFamily<'operation_type'> = this.registry.counter(OPERATION_ERRORS);
  readonly #operationSeconds = this.registry.histogram(OPERATION_SECONDS);
  readonly #pulls = this.registry.counter(PULLS);
  readonly #pullsInProgress = this.registry.gauge(PULLS_IN_PROGRESS);
  readonly #throughputs = THROUGHPUTS.map((each) => this.registry.histogram(each));
  /** The time of network plugins for a sandbox that is being created. */
  readonly #networkMs = new Map<string, number>();

  #timers<Label extends string>(
    declarations: ReadonlyMap<string, Timer<Label>>,
  ): ReadonlyMap<string, HistogramFamily<Label>> {
    return new Map([...declarations].map(([method, each]) => [method, this.registry.histogram(each)]));
  }

  isTimed(method: string): boolean {
    return PLAIN_CALLS.has(method) || CALLS_OF_RUNTIMES.has(method);
  }

  /**
   * `runtime`: the OCI runtime of the call. `sandboxId`: the sandbox that the call has created; the time of its network is
   * not that of the runtime.
   */
  observe(
    method: string,
    ms: number,
    { runtime, sandboxId }: { readonly runtime: string; readonly sandboxId: string | undefined },
  ): void {
    const networkMs = sandboxId === undefined ? 0 : (this.#networkMs.get(sandboxId) ?? 0);
    if (sandboxId !== undefined) this.#networkMs.delete(sandboxId);
    const seconds = (ms - networkMs) / 1000;
    this.#plainCalls.get(method)?.observe(seconds);
    this.#callsOfRuntimes.get(method)?.observe(seconds, { runtime });
  }

  networkOperation(operation: NetworkOperation, sandboxId: string, ms: number, hasFailed: boolean): void {
    const labels = { operation_type: operation };
    this.#operations.increment(labels);
    this.#operationSeconds.observe(ms / 1000, labels);
    if (hasFailed) this.#operationErrors.increment(labels);
    if (operation === 'tear_down_pod') {
      this.#networkMs.delete(sandboxId);
      if (!hasFailed) this.#deleteNetwork.observe(ms / 1000);
    } else if (!hasFailed) {
      this.#networkMs.set(sandboxId, ms);
      this.#createNetwork.observe(ms / 1000);
    }
  }

  pullStarted(): void {
    this.#pullsInProgress.add(1);
  }

  /** `receivedBytes`: without layers that were there. */
  pullEnded(status: 'success' | 'failure', ms: number, receivedBytes: number): void {
    this.#pullsInProgress.add(-1);
    this.#pulls.increment({ status });
    if (status === 'failure' || receivedBytes === 0 || ms <= 0) return;
    for (const each of this.#throughputs) each.observe(receivedBytes / BYTES_PER_MIB / (ms / 1000));
  }
}
