import { gauge, histogram, sampled } from '../../base/metrics/declaration.ts';
import type { Metric, MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { draChannel } from '../dra/dra-channel.ts';

/** From 0.1 to 40 seconds in 15 steps of one factor. */
export const DRA_SECONDS: readonly number[] = Array.from({ length: 15 }, (_, index) => 0.1 * 400 ** (index / 14));

const OPERATIONS = histogram(
  'dra_operations_duration_seconds',
  "Latency histogram in seconds for the duration of handling all ResourceClaims referenced by a pod when the pod starts or stops. Identified by the name of the operation (PrepareResources or UnprepareResources) and separated by the success of the operation. The number of failed operations is provided through the histogram's overall count.",
  { labels: ['operation_name', 'is_error'], buckets: DRA_SECONDS },
);
const IN_USE = gauge(
  'dra_resource_claims_in_use',
  'The number of ResourceClaims that are currently in use on the node, by driver name (driver_name label value) and across all drivers (special value <any> for driver_name). Note that the sum of all by-driver counts is not the total number of in-use ResourceClaims because the same ResourceClaim might use devices from different drivers. Instead, use the count for the <any> driver_name.',
  { labels: ['driver_name'] },
);
const ANY_DRIVER = '<any>';

export const CLAIM_DECLARATIONS = [IN_USE];

export function observeDra(registry: MetricRegistry): () => void {
  const operations = registry.histogram(OPERATIONS);
  return draChannel.subscribe(({ operation, isError, tookMs }) =>
    operations.observe(tookMs / 1000, { operation_name: operation, is_error: String(isError) }),
  );
}

/** `claims`: the drivers of each claim that is in use; `undefined` without an API server. */
export function claimMetrics(claims: readonly (readonly string[])[] | undefined): readonly Metric[] {
  if (!claims) return [];
  const byDriver = new Map<string, number>();
  for (const driver of claims.flatMap((drivers) => [...new Set(drivers)])) {
    byDriver.set(driver, (byDriver.get(driver) ?? 0) + 1);
  }
  const all = [...byDriver, [ANY_DRIVER, claims.length] as const];
  return [
    sampled(
      IN_USE,
      all.map(([driver, value]) => ({ labels: { driver_name: driver }, value })),
    ),
  ];
}
