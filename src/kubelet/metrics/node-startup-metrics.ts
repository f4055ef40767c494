import { gauge } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import type { Clock } from '../../host/clock.ts';
import { nodeChannel } from '../node/lifecycle/node-channel.ts';

const PRE_KUBELET = gauge(
  'kubelet_node_startup_pre_kubelet_duration_seconds',
  'Duration in seconds of node startup before kubelet starts.',
);
const PRE_REGISTRATION = gauge(
  'kubelet_node_startup_pre_registration_duration_seconds',
  'Duration in seconds of node startup before registration.',
);
const REGISTRATION = gauge(
  'kubelet_node_startup_registration_duration_seconds',
  'Duration in seconds of node startup during registration.',
);
const POST_REGISTRATION = gauge(
  'kubelet_node_startup_post_registration_duration_seconds',
  'Duration in seconds of node startup after registration.',
);
const TOTAL = gauge('kubelet_node_startup_duration_seconds', 'Duration in seconds of node startup in total.');

export interface NodeStartupDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** Wall-clock milliseconds of the start of the machine; `undefined` if the kernel does not say. */
  readonly bootMs: () => Promise<number | undefined>;
}

/** Measures the registration of a new node object. Zeros, as in kubelet, where the object exists already. */
export function observeNodeStartup(registry: MetricRegistry, { clock, bootMs }: NodeStartupDeps): () => void {
  const preKubelet = registry.gauge(PRE_KUBELET);
  const preRegistration = registry.gauge(PRE_REGISTRATION);
  const registration = registry.gauge(REGISTRATION);
  const postRegistration = registry.gauge(POST_REGISTRATION);
  const total = registry.gauge(TOTAL);
  const startedMs = clock.now();
  let registeringMs: number | undefined;
  let createdMs: number | undefined;
  let isReady = false;

  const onCreated = (nowMs: number): void => {
    if (createdMs !== undefined || registeringMs === undefined) return;
    createdMs = nowMs;
    preRegistration.set((registeringMs - startedMs) / 1000);
    registration.set((nowMs - registeringMs) / 1000);
    void bootMs().then((boot) => boot !== undefined && preKubelet.set((startedMs - boot) / 1000));
  };
  const onReady = (nowMs: number): void => {
    if (createdMs === undefined || isReady) return;
    isReady = true;
    postRegistration.set((nowMs - createdMs) / 1000);
    void bootMs().then((boot) => boot !== undefined && total.set((nowMs - boot) / 1000));
  };
  return nodeChannel.subscribe(({ kind }) => {
    const nowMs = clock.now();
    if (kind === 'registering') registeringMs ??= nowMs;
    else if (kind === 'created') onCreated(nowMs);
    else onReady(nowMs);
  });
}
