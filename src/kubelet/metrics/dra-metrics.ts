import { gauge, histogram, sampled } from '../../base/metrics/declaration.ts';
import type { Metric, MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { draChannel } from '../dra/dra-channel.ts';

/** From 0.1 to 40 seconds by one factor, with the last digits that Go computes: the labels of buckets show them. */
export const DRA_SECONDS: readonly number[] = [
  0.1, 0.1534127404634391, 0.23535468936502524, 0.36106407876409946, 0.5539182980610752, 0.849781240983936,
  1.303672689737678, 1.9999999999999993, 3.0682548092687805, 4.7070937873005025, 7.221281575281985, 11.078365961221499,
  16.995624819678714, 26.07345379475354, 39.99999999999997,
];

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
