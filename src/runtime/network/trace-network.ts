import { traceWork, type WorkFacts } from '../../base/trace-work.ts';
import type { NetworkedPod, PodAddresses, PodNetwork } from './pod-network.ts';

/** The networks with spans; that of a pod's attachment is containerd's. */
export function traceNetwork(network: PodNetwork): PodNetwork {
  return {
    status: () => network.status(),
    handlerStatuses: () => network.handlerStatuses(),
    setUp: (pod, signal) =>
      traceWork(
        () => ({ name: 'cni.setup_pod_network', facts: networkFacts(pod), factsOf: addressFacts }),
        () => network.setUp(pod, signal),
      ),
    tearDown: (pod, signal) =>
      traceWork(
        () => ({ name: 'cni.teardown_pod_network', facts: networkFacts(pod) }),
        () => network.tearDown(pod, signal),
      ),
    collectGarbage: (live, signal) => network.collectGarbage(live, signal),
    setPodCidr: (cidr) => network.setPodCidr(cidr),
    refresh: () => network.refresh(),
    run: (signal) => network.run(signal),
  };
}

function networkFacts({ sandboxId, namespacePath, runtimeHandler }: NetworkedPod): WorkFacts {
  return { 'sandbox.id': sandboxId, 'netns.path': namespacePath, 'runtime.handler': runtimeHandler };
}

function addressFacts(result: unknown): WorkFacts {
  const { ips } = result as PodAddresses; // of `setUp`
  return { 'sandbox.ip': ips[0], 'sandbox.additional_ips.count': ips.length - 1 };
}
