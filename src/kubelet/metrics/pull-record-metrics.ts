import { gauge, sampled } from '../../base/metrics/declaration.ts';
import type { Metric } from '../../base/metrics/metric-registry.ts';

const INTENTS = gauge('kubelet_imagemanager_ondisk_pullintents', 'Number of ImagePullIntents stored on disk.');
const PULLED = gauge('kubelet_imagemanager_ondisk_pulledrecords', 'Number of ImagePulledRecords stored on disk.');

export const PULL_RECORD_DECLARATIONS = [INTENTS, PULLED];

/** The number of files of image pulls. */
export interface PullRecordCounts {
  readonly intents: number;
  readonly pulled: number;
}

/** `undefined`: the files cannot be read. */
export function pullRecordMetrics(counts: PullRecordCounts | undefined): readonly Metric[] {
  if (!counts) return [];
  const { intents, pulled } = counts;
  return [sampled(INTENTS, [{ value: intents }]), sampled(PULLED, [{ value: pulled }])];
}
