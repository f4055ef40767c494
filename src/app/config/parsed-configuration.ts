import { cpuSetError, parseCpuSet } from '../../base/cpu-set.ts';
import { parseDurationMs } from '../../base/duration.ts';
import { parseQuantity, type Quantity } from '../../base/quantity.ts';
import { type EvictionThreshold, parseEvictionThresholds } from './eviction-thresholds.ts';
import { KUBELET_DEFAULTS } from './generated/defaults.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import { DURATION_PATHS, type DurationPath } from './generated/kubelet-configuration-schema.ts';
import { isJsonObject, type JsonObject, valueAt } from './json-value.ts';
import { containerLogMaxBytes } from './validate-container-logs.ts';

/** The texts of a KubeletConfiguration as the values that they stand for. */
export interface ParsedConfiguration {
  /** Each duration of the configuration by its path: `ms['syncFrequency']`. */
  readonly ms: Readonly<Record<DurationPath, number>>;
  /** Size at which a container's log is rotated. */
  readonly containerLogMaxBytes: number;
  /** Hard thresholds, then soft ones. */
  readonly evictionThresholds: readonly EvictionThreshold[];
  /** Resource → amount kept for the system. */
  readonly systemReserved: ReadonlyMap<string, Quantity>;
  /** Resource → amount kept for Kubernetes' own daemons. */
  readonly kubeReserved: ReadonlyMap<string, Quantity>;
  /** CPUs kept for both; empty when none are named. */
  readonly reservedCpus: readonly number[];
}

/** A value that does not parse is left out or at its default: validation has reported it already. */
export function parseConfiguration(config: KubeletConfiguration): ParsedConfiguration {
  const cpus = config.reservedSystemCPUs ?? '';
  return {
    ms: durationsOf(config),
    containerLogMaxBytes: attempt(
      () => containerLogMaxBytes(config.containerLogMaxSize),
      () => containerLogMaxBytes(KUBELET_DEFAULTS.containerLogMaxSize),
    ),
    evictionThresholds: parseEvictionThresholds(config).thresholds,
    systemReserved: quantitiesOf(config.systemReserved),
    kubeReserved: quantitiesOf(config.kubeReserved),
    reservedCpus: cpuSetError(cpus) === undefined ? parseCpuSet(cpus) : [],
  };
}

function durationsOf(config: KubeletConfiguration): ParsedConfiguration['ms'] {
  const entries = DURATION_PATHS.map((path) => [path, durationAt(config, path)] as const);
  return Object.fromEntries(entries) as Record<DurationPath, number>; // one entry for each path
}

/** A duration that a gate keeps out of the configuration has its default. */
function durationAt(config: KubeletConfiguration, path: DurationPath): number {
  const keys = path.split('.');
  const [own, fallback] = [config, KUBELET_DEFAULTS].map((each) => valueAt(asJson(each), keys));
  const text = own ?? fallback;
  return typeof text === 'string' ? parseDurationMs(text) : 0;
}

function asJson(config: KubeletConfiguration): JsonObject {
  return isJsonObject(config) ? config : {};
}

function quantitiesOf(amounts: Readonly<Record<string, string>> = {}): ReadonlyMap<string, Quantity> {
  const entries = Object.entries(amounts).map(([resource, amount]) => {
    const quantity = attempt(
      () => parseQuantity(amount),
      () => undefined,
    );
    return [resource, quantity] as const;
  });
  return new Map(entries.flatMap(([resource, quantity]) => (quantity ? [[resource, quantity]] : [])));
}

function attempt<T>(first: () => T, second: () => T): T {
  try {
    return first();
  } catch {
    return second();
  }
}
