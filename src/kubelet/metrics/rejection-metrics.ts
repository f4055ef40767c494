import { counter } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { rejectionChannel } from '../pod/rejection-channel.ts';

const REJECTIONS = counter(
  'kubelet_admission_rejections_total',
  'Cumulative number pod admission rejections by the Kubelet.',
  { labels: ['reason'] },
);

/** The reasons that kubelet shows; others are shown together, so that the number of series is bounded. */
const REASONS: ReadonlySet<string> = new Set([
  'AppArmor',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'PodOSNotSupported',
  'InvalidNodeInfo',
  'InitContainerRestartPolicyForbidden',
  'SupplementalGroupsPolicyNotSupported',
  'UnexpectedAdmissionError',
  'UnknownReason',
  'UnexpectedPredicateFailureType',
  'OutOfcpu',
  'OutOfmemory',
  'OutOfephemeral-storage',
  'OutOfpods',
  'PodLevelResourcesNotSupported',
  'PodFeatureUnsupported',
  'node(s) had untolerated taint(s)',
  'Evicted',
  'SysctlForbidden',
  'TopologyAffinityError',
  'NodeShutdown',
  'VolumeAttachmentLimitExceeded',
]);

/** The label of a reason, as in kubelet. */
export function rejectionLabel(reason: string): string {
  if (REASONS.has(reason)) return reason;
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
}

export function observeRejections(registry: MetricRegistry): () => void {
  const rejections = registry.counter(REJECTIONS);
  return rejectionChannel.subscribe(({ reason }) => rejections.increment({ reason: rejectionLabel(reason) }));
}
