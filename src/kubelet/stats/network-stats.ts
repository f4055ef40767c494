import type { InterfaceStats, NetworkStats } from '../../api/stats-summary.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { NetworkInterfaceUsage, NetworkUsage } from '../../cri/generated/runtime-v1.ts';
import type { InterfaceCounters } from '../../host/network-namespaces.ts';
import { optional } from './usage-stats.ts';

/** kubelet shows this interface as the default one, of pods and of the node. */
const DEFAULT_INTERFACE = 'eth0';
/** Prefixes of interfaces that are not counted: loopback, and the node's side of containers' interfaces. */
const IGNORED = ['lo', 'veth', 'docker', 'nerdctl'];

/** The interfaces of the node or of a pod. The default one is listed too. */
export function networkStats(time: string, interfaces: readonly InterfaceCounters[]): NetworkStats {
  return withDefault(
    time,
    countedInterfaces(interfaces).map(({ name, received, sent }) => ({
      name,
      rxBytes: Number(received.bytes),
      rxErrors: Number(received.errors),
      txBytes: Number(sent.bytes),
      txErrors: Number(sent.errors),
    })),
  );
}

export function countedInterfaces(interfaces: readonly InterfaceCounters[]): readonly InterfaceCounters[] {
  return interfaces.filter(({ name }) => !IGNORED.some((prefix) => name.toLowerCase().startsWith(prefix)));
}

/** The network of a pod as the runtime reports it. */
export function reportedNetworkStats({ timestamp, defaultInterface, interfaces }: NetworkUsage): NetworkStats {
  const all = [...(defaultInterface ? [defaultInterface] : []), ...interfaces];
  return withDefault(formatNanoTime(timestamp), all.map(interfaceStats));
}

function withDefault(time: string, interfaces: readonly InterfaceStats[]): NetworkStats {
  const first = interfaces.find(({ name }) => name === DEFAULT_INTERFACE);
  return { time, ...(first ?? { name: '' }), interfaces };
}

function interfaceStats({ name, rxBytes, rxErrors, txBytes, txErrors }: NetworkInterfaceUsage): InterfaceStats {
  return {
    name,
    ...optional('rxBytes', rxBytes?.value),
    ...optional('rxErrors', rxErrors?.value),
    ...optional('txBytes', txBytes?.value),
    ...optional('txErrors', txErrors?.value),
  };
}
