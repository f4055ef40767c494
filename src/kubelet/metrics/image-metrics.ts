import { assertNever } from '../../base/assert-never.ts';
import { counter, histogram } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { imageChannel } from '../images/image-channel.ts';

const PULL_DURATION = histogram('kubelet_image_pull_duration_seconds', 'Duration in seconds to pull an image.', {
  labels: ['image_size_in_bytes'],
  buckets: [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
});
const REQUESTS = counter(
  'kubelet_image_manager_ensure_image_requests_total',
  'Number of ensure-image requests processed by the kubelet.',
  { labels: ['pull_policy', 'present_locally', 'pull_required'] },
);
const ACCESS_CHECKS = counter(
  'kubelet_imagemanager_image_mustpull_checks_total',
  'Counter for how many times kubelet checked whether credentials need to be re-verified to access an image',
  { labels: ['result'] },
);

const COLLECTED = counter(
  'kubelet_image_garbage_collected_total',
  'Total number of images garbage collected by the kubelet, whether through disk usage or image age.',
  { labels: ['reason'] },
);

const PROVIDER_ERRORS = counter(
  'kubelet_credential_provider_plugin_errors_total',
  'Number of errors from credential provider plugin',
  { labels: ['plugin_name'] },
);
const PROVIDER_DURATION = histogram(
  'kubelet_credential_provider_plugin_duration',
  'Duration of execution in seconds for credential provider plugin',
  { labels: ['plugin_name'] },
);

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
/** Labels of sizes, each above its lower bound. */
const SIZES: readonly (readonly [above: number, label: string])[] = [
  [100 * GIB, 'GT100GB'],
  [60 * GIB, '60GB-100GB'],
  [40 * GIB, '40GB-60GB'],
  [30 * GIB, '30GB-40GB'],
  [20 * GIB, '20GB-30GB'],
  [10 * GIB, '10GB-20GB'],
  [5 * GIB, '5GB-10GB'],
  [GIB, '1GB-5GB'],
  [500 * MIB, '500MB-1GB'],
  [100 * MIB, '100MB-500MB'],
  [10 * MIB, '10MB-100MB'],
  [0, '0-10MB'],
];

/** The label of the size of an image, as in kubelet; 0: the runtime did not say. */
export function imageSizeLabel(bytes: number): string {
  return SIZES.find(([above]) => bytes > above)?.[1] ?? 'N/A';
}

export function observeImages(registry: MetricRegistry): () => void {
  const pullDuration = registry.histogram(PULL_DURATION);
  const requests = registry.counter(REQUESTS);
  const accessChecks = registry.counter(ACCESS_CHECKS);
  const providerDuration = registry.histogram(PROVIDER_DURATION);
  const providerErrors = registry.counter(PROVIDER_ERRORS);
  const collected = registry.counter(COLLECTED);
  return imageChannel.subscribe((message) => {
    switch (message.kind) {
      case 'requested': {
        const { pullPolicy, isPresent, mustPull } = message;
        return requests.increment({
          pull_policy: pullPolicy.toLowerCase(),
          present_locally: String(isPresent ?? 'unknown'),
          pull_required: String(mustPull ?? 'unknown'),
        });
      }
      case 'accessChecked':
        return accessChecks.increment({ result: message.result });
      case 'providerRan':
        providerDuration.observe(message.tookMs / 1000, { plugin_name: message.provider });
        if (message.isError) providerErrors.increment({ plugin_name: message.provider });
        return;
      case 'collected':
        return collected.increment({ reason: message.reason });
      case 'pulling':
        return;
      case 'pulled':
        return pullDuration.observe(message.tookMs / 1000, { image_size_in_bytes: imageSizeLabel(message.bytes) });
      default:
        return assertNever(message);
    }
  });
}
