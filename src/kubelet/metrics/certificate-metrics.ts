import { counter, gauge, histogram, sampled } from '../../base/metrics/declaration.ts';
import type { CounterFamily } from '../../base/metrics/metric-family.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import type { Clock } from '../../host/clock.ts';
import { certificateChannel } from '../certificates/certificate-channel.ts';

const CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const SERVER = 'kubernetes.io/kubelet-serving';
const ERRORS_HELP = 'Counter of certificate renewal errors.';
const CLIENT_ERRORS = counter('kubelet_certificate_manager_client_expiration_renew_errors', ERRORS_HELP);
const SERVER_ERRORS = counter('kubelet_server_expiration_renew_errors', ERRORS_HELP);
const CLIENT_TTL = gauge(
  'kubelet_certificate_manager_client_ttl_seconds',
  "Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value is in seconds until certificate expiry (negative if already expired). If client certificate is invalid or unused, the value will be +INF.",
);
const SERVER_TTL = gauge(
  'kubelet_certificate_manager_server_ttl_seconds',
  "Gauge of the shortest TTL (time-to-live) of the Kubelet's serving certificate. The value is in seconds until certificate expiry (negative if already expired). If serving certificate is invalid or unused, the value will be +INF.",
);
const SERVER_AGE = histogram(
  'kubelet_certificate_manager_server_rotation_seconds',
  'Histogram of the number of seconds the previous certificate lived before being rotated.',
  { buckets: [60, 3600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000] },
);

/** Which certificates the node requests and renews; as in kubelet, others have no metrics. */
export interface RotatedCertificates {
  readonly client: boolean;
  readonly server: boolean;
}

export function observeCertificates(
  registry: MetricRegistry,
  rotated: RotatedCertificates,
  clock: Pick<Clock, 'now'>,
): () => void {
  const validUntilMs = new Map<string, number>();
  const ttl = (signerName: string): number =>
    Math.trunc(((validUntilMs.get(signerName) ?? Number.POSITIVE_INFINITY) - clock.now()) / 1000);
  const errors = new Map<string, CounterFamily<never>>([
    ...(rotated.client ? [[CLIENT, registry.counter(CLIENT_ERRORS)] as const] : []),
    ...(rotated.server ? [[SERVER, registry.counter(SERVER_ERRORS)] as const] : []),
  ]);
  const serverAge = rotated.server ? registry.histogram(SERVER_AGE) : undefined;
  if (rotated.client) registry.source(() => [sampled(CLIENT_TTL, [{ value: ttl(CLIENT) }])], [CLIENT_TTL]);
  if (rotated.server) registry.source(() => [sampled(SERVER_TTL, [{ value: ttl(SERVER) }])], [SERVER_TTL]);
  return certificateChannel.subscribe((message) => {
    const { signerName } = message;
    if (message.kind === 'renewFailed') return errors.get(signerName)?.increment();
    validUntilMs.set(signerName, message.validUntilMs);
    const { replacedAgeMs } = message;
    if (signerName === SERVER && replacedAgeMs !== undefined) serverAge?.observe(replacedAgeMs / 1000);
  });
}
