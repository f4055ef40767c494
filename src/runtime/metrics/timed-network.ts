import type { Clock } from '../../host/clock.ts';
import type { PodNetwork } from '../network/pod-network.ts';
import type { CallTimers, NetworkOperation } from './call-timers.ts';

/** The network, with the duration of its plugins. */
export function timedNetwork(
  network: PodNetwork,
  timers: Pick<CallTimers, 'networkOperation'>,
  clock: Pick<Clock, 'monotonic'>,
): PodNetwork {
  const timed = async <T>(operation: NetworkOperation, sandboxId: string, work: () => Promise<T>): Promise<T> => {
    const startedMs = clock.monotonic();
    let hasFailed = true;
    try {
      const result = await work();
      hasFailed = false;
      return result;
    } finally {
      timers.networkOperation(operation, sandboxId, clock.monotonic() - startedMs, hasFailed);
    }
  };
  return {
    status: () => network.status(),
    handlerStatuses: () => network.handlerStatuses(),
    setUp: (pod, signal) => timed('set_up_pod', pod.sandboxId, () => network.setUp(pod, signal)),
    tearDown: (pod, signal) => timed('tear_down_pod', pod.sandboxId, () => network.tearDown(pod, signal)),
    collectGarbage: (live, signal) => network.collectGarbage(live, signal),
    setPodCidr: (podCidr) => network.setPodCidr(podCidr),
    refresh: () => network.refresh(),
    run: (signal) => network.run(signal),
  };
}
