import {
  type Counter,
  type Gauge,
  type Histogram,
  type Labels,
  MetricRegistry,
} from '../../base/metrics/metric-registry.ts';

/** The default buckets of Prometheus' client for Go, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const THROUGHPUT_BUCKETS = [0.1, 1, 10, 25, 75, 150, 300, 500, 1000, 2000, 4000];
const BYTES_PER_MIB = 1024 * 1024;

interface CallTimer {
  readonly name: string;
  readonly help: string;
  /** By the OCI runtime. */
  readonly isLabelled: boolean;
}

const labelled = (name: string, help: string): CallTimer => ({ name, help, isLabelled: true });
const plain = (name: string, help: string): CallTimer => ({ name, help, isLabelled: false });

/** containerd's timers by CRI method. */
const CALLS: ReadonlyMap<string, CallTimer> = new Map([
  ['ListPodSandbox', plain('sandbox_list', 'time to list sandboxes')],
  ['StreamPodSandboxes', plain('stream_sandbox_list', 'time to stream sandboxes')],
  ['RunPodSandbox', labelled('sandbox_runtime_create', 'time to create a sandbox in the runtime')],
  ['StopPodSandbox', labelled('sandbox_runtime_stop', 'time to stop a sandbox')],
  ['RemovePodSandbox', labelled('sandbox_remove', 'time to remove a sandbox')],
  ['ListContainers', plain('container_list', 'time to list containers')],
  ['StreamContainers', plain('stream_container_list', 'time to stream containers')],
  ['CreateContainer', labelled('container_create', 'time to create a container')],
  ['StartContainer', labelled('container_start', 'time to start a container')],
  ['StopContainer', labelled('container_stop', 'time to stop a container')],
  ['RemoveContainer', labelled('container_remove', 'time to remove a container')],
  ['CheckpointContainer', labelled('container_checkpoint', 'time to checkpoint a container')],
]);

/** Values of the label `operation_type`, which are those of dockershim. */
export type NetworkOperation = 'set_up_pod' | 'tear_down_pod';

/** The metrics, each declared once. */
export class CallTimers {
  readonly registry = new MetricRegistry();
  readonly #calls: ReadonlyMap<string, Histogram>;
  readonly #createNetwork: Histogram;
  readonly #deleteNetwork: Histogram;
  readonly #operations: Counter;
  readonly #operationErrors: Counter;
  readonly #operationSeconds: Histogram;
  readonly #pulls: Counter;
  readonly #pullsInProgress: Gauge;
  readonly #throughput: readonly Histogram[];
  #pulling = 0;
  /** The time of network plugins for a sandbox that is being created. */
  readonly #networkMs = new Map<string, number>();

  constructor() {
    const { registry } = this;
    const timer = (name: string, help: string): Histogram =>
      registry.histogram(`containerd_cri_${name}_seconds`, help, BUCKETS);
    this.#calls = new Map([...CALLS].map(([method, { name, help }]) => [method, timer(name, help)]));
    this.#createNetwork = timer('sandbox_create_network', 'time to create the network for a sandbox');
    this.#deleteNetwork = timer('sandbox_delete_network', "time to delete a sandbox's network");
    const operations = 'cumulative number of network plugin operations by operation type';
    // containerd's library appends the unit once more.
    this.#operations = registry.counter('containerd_cri_network_plugin_operations_total_total', operations);
    this.#operationErrors = registry.counter('containerd_cri_network_plugin_operations_errors_total_total', operations);
    this.#operationSeconds = timer(
      'network_plugin_operations_duration_seconds',
      'latency in seconds of network plugin operations. Broken down by operation type',
    );
    this.#pulls = registry.counter('containerd_cri_sandboxed_image_pulls_total', 'succeeded and failed counters');
    this.#pullsInProgress = registry.gauge(
      'containerd_cri_sandboxed_in_progress_image_pulls_total',
      'in progress pulls',
    );
    this.#pullsInProgress.set(0);
    this.#throughput = [
      registry.histogram(
        'containerd_cri_sandboxed_image_pulling_throughput',
        'Deprecated: use image_pulling_throughput_mibps instead. Image pull throughput in MiB/s (fetched bytes / pull duration; cached layers excluded).',
        BUCKETS,
      ),
      registry.histogram(
        'containerd_cri_sandboxed_image_pulling_throughput_mibps',
        'image pull throughput in MiB/s (fetched bytes / pull duration; cached layers excluded)',
        THROUGHPUT_BUCKETS,
      ),
    ];
  }

  isTimed(method: string): boolean {
    return CALLS.has(method);
  }

  /** `sandboxId`: the sandbox that the call has created; the time of its network is not that of the runtime. */
  observe(
    method: string,
    ms: number,
    { labels, sandboxId }: { readonly labels: Labels; readonly sandboxId: string | undefined },
  ): void {
    const networkMs = sandboxId === undefined ? 0 : (this.#networkMs.get(sandboxId) ?? 0);
    if (sandboxId !== undefined) this.#networkMs.delete(sandboxId);
    this.#calls.get(method)?.observe((ms - networkMs) / 1000, CALLS.get(method)?.isLabelled ? labels : {});
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
    this.#pullsInProgress.set(++this.#pulling);
  }

  /** `receivedBytes`: without layers that were there. */
  pullEnded(status: 'success' | 'failure', ms: number, receivedBytes: number): void {
    this.#pullsInProgress.set(--this.#pulling);
    this.#pulls.increment({ status });
    if (status === 'failure' || receivedBytes === 0 || ms <= 0) return;
    for (const each of this.#throughput) each.observe(receivedBytes / BYTES_PER_MIB / (ms / 1000));
  }
}
