import { abortable } from '../../base/abortable.ts';
import { goFloat } from '../../base/go/go-float.ts';
import type { Log } from '../../base/log.ts';
import { type Metric, type MetricDescriptor, MetricType } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import { labelsText, type MetricText, metricText } from './metrics-page.ts';

/** How long a scrape waits for the runtime. */
const RUNTIME_MS = 10_000;

export interface CriMetricsDeps {
  readonly runtime: Pick<RuntimeService, 'listMetricDescriptors' | 'listPodSandboxMetrics'>;
  readonly clock: Pick<Clock, 'deadline'>;
  readonly log: Log;
}

/** The metrics of pods as the runtime reports them: the feature gate PodAndContainerStatsFromCRI. */
export class CriMetrics {
  readonly #deps: CriMetricsDeps;
  #descriptors: ReadonlyMap<string, MetricDescriptor> | undefined;

  constructor(deps: CriMetricsDeps) {
    this.#deps = deps;
  }

  /** Empty if the runtime does not answer, as in kubelet. */
  async texts(signal: AbortSignal): Promise<readonly MetricText[]> {
    const { runtime, clock, log } = this.#deps;
    const limited = AbortSignal.any([signal, clock.deadline(RUNTIME_MS)]);
    try {
      this.#descriptors ??= await this.#readDescriptors(limited);
      const { podMetrics } = await abortable(runtime.listPodSandboxMetrics({}, limited), limited);
      const all = podMetrics.flatMap((pod) => [
        ...pod.metrics,
        ...pod.containerMetrics.flatMap(({ metrics }) => metrics),
      ]);
      return criTexts(all, this.#descriptors);
    } catch (error) {
      signal.throwIfAborted();
      log.warn('cannot list the metrics of pod sandboxes', { error });
      return [];
    }
  }

  async #readDescriptors(signal: AbortSignal): Promise<ReadonlyMap<string, MetricDescriptor>> {
    const { descriptors } = await abortable(this.#deps.runtime.listMetricDescriptors({}, signal), signal);
    return new Map(descriptors.map((each) => [each.name, each]));
  }
}

/** With kubelet's level of stability. Metrics without a descriptor, or with other labels than it has, are left out. */
export function criTexts(
  metrics: readonly Metric[],
  descriptors: ReadonlyMap<string, MetricDescriptor>,
): readonly MetricText[] {
  return [...Map.groupBy(metrics, ({ name }) => name)].flatMap(([name, group]) => {
    const descriptor = descriptors.get(name);
    if (!descriptor) return [];
    const lines = group.flatMap((each) => lineOf(each, descriptor)).sort();
    const type = group[0]?.metricType === MetricType.COUNTER ? 'counter' : 'gauge';
    return lines.length === 0
      ? []
      : [metricText({ name, type, help: `[INTERNAL] ${descriptor.help}` }, lines.join(''))];
  });
}

/** A timestamp of zero is that of the scrape. */
function lineOf({ name, labelValues, value, timestamp }: Metric, { labelKeys }: MetricDescriptor): readonly string[] {
  if (labelValues.length !== labelKeys.length) return [];
  const labels = Object.fromEntries(labelKeys.map((key, index) => [key, labelValues[index] ?? '']));
  const time = timestamp === 0n ? '' : ` ${timestamp / 1_000_000n}`;
  return [`${name}${labelsText(labels)} ${goFloat(Number(value?.value ?? 0n))}${time}\n`];
}
