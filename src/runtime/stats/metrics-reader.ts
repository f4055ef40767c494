import { ContainerMetrics, Metric, MetricDescriptor, PodSandboxMetrics } from '../../cri/generated/runtime-v1.ts';
import type { CgroupDetails } from '../../host/cgroup-stats.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { BlockDevices, splitDevice } from './block-devices.ts';
import { CONTAINER_METRICS, type ContainerView } from './container-metrics.ts';
import type { LayerSizes } from './layer-sizes.ts';
import { BASE_LABELS, type MetricRow } from './metric-row.ts';
import { NETWORK_METRICS } from './network-metrics.ts';
import { filterRunning, podCgroup, runningCgroup, type StatsDeps } from './stats-reader.ts';

export interface MetricsDeps
  extends Pick<StatsDeps, 'clock' | 'cgroupStats' | 'networkNamespaces' | 'containers' | 'storage'> {
  readonly fs: Pick<FileSystem, 'stat' | 'usage' | 'readLink'>;
  /** Shared with `StatsReader`, so that a layer is measured once for both. */
  readonly sizes: Pick<LayerSizes, 'size'>;
}

/** Descriptors of all metrics. */
export function metricDescriptors(): MetricDescriptor[] {
  return [...CONTAINER_METRICS, ...NETWORK_METRICS].map(({ name, help, labelKeys }) =>
    MetricDescriptor.create({ name, help, labelKeys: [...BASE_LABELS, ...labelKeys] }),
  );
}

/** Reads the metrics that kubelet serves at `/metrics/cadvisor`, with cAdvisor's names, labels and meanings. */
export class MetricsReader {
  readonly #deps: MetricsDeps;
  readonly #devices: BlockDevices;

  constructor(deps: MetricsDeps) {
    this.#deps = deps;
    this.#devices = new BlockDevices(deps.fs);
  }

  async readSandboxes(sandboxes: readonly SandboxRecord[]): Promise<PodSandboxMetrics[]> {
    const { cgroupStats, networkNamespaces, containers } = this.#deps;
    const members = Map.groupBy(containers.all.values(), ({ sandboxId }) => sandboxId);
    const running = sandboxes.flatMap(({ id }) => filterRunning(members.get(id)));
    const figures = await cgroupStats.details(running.flatMap(runningCgroup));
    const networks = await networkNamespaces.interfaces(sandboxes.flatMap((each) => each.namespaces.network ?? []));
    const layers = await this.#layers();
    await this.#devices.learn([...figures.values()].flatMap(({ devices }) => devices));
    return Promise.all(
      sandboxes.map(async (sandbox) => {
        const own = filterRunning(members.get(sandbox.id));
        const metrics = await Promise.all(
          own.map((record) => this.#containerMetrics(sandbox, record, figures, layers)),
        );
        const interfaces = networks.get(sandbox.namespaces.network ?? '') ?? [];
        return PodSandboxMetrics.create({
          podSandboxId: sandbox.id,
          metrics: metricMessages(NETWORK_METRICS, interfaces, podLabels(sandbox)),
          containerMetrics: metrics.flat(),
        });
      }),
    );
  }

  /** Empty if the cgroup is gone. */
  async #containerMetrics(
    sandbox: SandboxRecord,
    record: ContainerRecord,
    figures: ReadonlyMap<string, CgroupDetails>,
    layers: ContainerView['layers'],
  ): Promise<ContainerMetrics[]> {
    const [path = ''] = runningCgroup(record);
    const found = figures.get(path);
    if (!found || !record.spec || record.state.phase !== 'running') return [];
    const view: ContainerView = {
      figures: found,
      layerBytes: (await this.#deps.sizes.size(record.id))?.bytes,
      resources: record.spec.linux.resources,
      startedAtNs: record.state.startedAtNs,
      nowMs: this.#deps.clock.now(),
      layers,
      deviceName: this.#devices.name,
    };
    const metrics = metricMessages(CONTAINER_METRICS, view, containerLabels(sandbox, record, path));
    return [ContainerMetrics.create({ containerId: record.id, metrics })];
  }

  async #layers(): Promise<ContainerView['layers']> {
    const { fs, storage } = this.#deps;
    const [usage, stat] = await Promise.all([fs.usage(storage), fs.stat(storage)]);
    const device = splitDevice(stat?.device ?? 0);
    await this.#devices.learn([device]);
    return { ...usage, device: this.#devices.name(device) };
  }
}

/** Without timestamps: kubelet sets the time of a metric with timestamp 0. */
function metricMessages<View>(rows: readonly MetricRow<View>[], view: View, base: readonly string[]): Metric[] {
  return rows.flatMap(({ name, type, values }) =>
    values(view).map(({ labels, value }) =>
      Metric.create({ name, metricType: type, labelValues: [...base, ...labels], value: { value: BigInt(value) } }),
    ),
  );
}

/** Values in the order of `BASE_LABELS`. */
function containerLabels({ config: pod }: SandboxRecord, { id, config }: ContainerRecord, cgroup: string): string[] {
  const { name = '', namespace = '' } = pod.metadata ?? {};
  return [
    config.metadata?.name ?? '',
    cgroup,
    config.image?.userSpecifiedImage || (config.image?.image ?? ''),
    id,
    namespace,
    name,
  ];
}

function podLabels(sandbox: SandboxRecord): string[] {
  const { name = '', namespace = '' } = sandbox.config.metadata ?? {};
  const [cgroup = ''] = podCgroup(sandbox);
  return ['', cgroup, '', sandbox.id, namespace, name];
}
