import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';

/** Objections to single numbers, and to pairs of them. */
export function numericRangeErrors(config: KubeletConfiguration): readonly string[] {
  return [...boundErrors(config), ...relationErrors(config)].map((message) => `invalid configuration: ${message}`);
}

type NumberField = {
  [K in keyof KubeletConfiguration]-?: NonNullable<KubeletConfiguration[K]> extends number ? K : never;
}[keyof KubeletConfiguration];

interface Bounds {
  readonly flag?: string;
  readonly low: number;
  readonly high?: number;
  readonly words: string;
  /** The number that stands for "off". */
  readonly off?: number;
}

const NOT_NEGATIVE = { low: 0, words: 'must not be a negative number' };
const PERCENT = { low: 0, high: 100, words: 'must be between 0 and 100, inclusive' };
const BIT = { low: 0, high: 31, words: 'must be between 0 and 31, inclusive' };
const PORT = { low: 1, high: 65_535, words: 'must be between 1 and 65535, inclusive' };

const BOUNDS: Partial<Record<NumberField, Bounds>> = {
  eventBurst: { flag: 'event-burst', ...NOT_NEGATIVE },
  eventRecordQPS: { flag: 'event-qps', ...NOT_NEGATIVE },
  healthzPort: { flag: 'healthz-port', ...PORT, off: 0 },
  imageGCHighThresholdPercent: { flag: 'image-gc-high-threshold', ...PERCENT },
  imageGCLowThresholdPercent: { flag: 'image-gc-low-threshold', ...PERCENT },
  iptablesDropBit: { flag: 'iptables-drop-bit', ...BIT },
  iptablesMasqueradeBit: { flag: 'iptables-masquerade-bit', ...BIT },
  kubeAPIBurst: { flag: 'kube-api-burst', ...NOT_NEGATIVE },
  kubeAPIQPS: { flag: 'kube-api-qps', ...NOT_NEGATIVE },
  nodeStatusMaxImages: { flag: 'node-status-max-images', low: -1, words: 'must be -1 or greater' },
  maxOpenFiles: { flag: 'max-open-files', ...NOT_NEGATIVE },
  maxPods: { flag: 'max-pods', ...NOT_NEGATIVE },
  oomScoreAdj: { flag: 'oom-score-adj', low: -1000, high: 1000, words: 'must be between -1000 and 1000, inclusive' },
  podsPerCore: { flag: 'pods-per-core', ...NOT_NEGATIVE },
  port: { flag: 'port', ...PORT },
  readOnlyPort: { flag: 'read-only-port', ...PORT, words: 'must be between 0 and 65535, inclusive', off: 0 },
  registryBurst: { flag: 'registry-burst', ...NOT_NEGATIVE },
  registryPullQPS: { flag: 'registry-qps', ...NOT_NEGATIVE },
  maxParallelImagePulls: { low: 1, words: 'must be a positive number' },
  memoryThrottlingFactor: {
    low: Number.MIN_VALUE,
    high: 1,
    words: 'must be greater than 0 and less than or equal to 1.0',
  },
};

function* boundErrors(config: KubeletConfiguration): Generator<string> {
  for (const [field, bounds] of Object.entries(BOUNDS)) {
    const value = config[field as NumberField]; // the keys of BOUNDS are no others
    const { flag, low, high = Number.POSITIVE_INFINITY, words, off } = bounds;
    if (value === undefined || value === off || (value >= low && value <= high)) continue;
    yield `${flag === undefined ? field : `${field} (--${flag})`} ${value} ${words}`;
  }
}

function* relationErrors(config: KubeletConfiguration): Generator<string> {
  const { imageGCLowThresholdPercent: low, imageGCHighThresholdPercent: high } = config;
  if (config.nodeLeaseDurationSeconds <= 0) yield 'nodeLeaseDurationSeconds must be greater than 0';
  if (config.systemCgroups && !config.cgroupRoot) {
    yield 'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified';
  }
  if (low >= high) {
    yield `imageGCLowThresholdPercent (--image-gc-low-threshold) ${low} must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) ${high}`;
  }
  if (config.serializeImagePulls && (config.maxParallelImagePulls ?? 0) > 1) {
    yield 'maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false';
  }
  if (config.runOnce) {
    yield 'runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set';
  }
}
