import type { NatBackend } from '../../runtime/network/default-bridge.ts';

/** The network that a process created for its pods; stored in the root folder for later processes. */
export interface NetworkRecord {
  /** The boot in which it was written: rules do not outlive it. */
  readonly bootId: string;
  /** Only a process with the same state folder adopts the pods. */
  readonly stateDir: string;
  /** The host port chains were created for our pods and are removed with them. */
  readonly ownsHostPortChains: boolean;
  /**
   * Every pod range that was masqueraded since the last stop that left nothing behind: pods of a previous range may still
   * run.
   */
  readonly podCidrs: readonly string[];
  /** Every backend that was used since then: its rules may be left, and only its programs remove them. */
  readonly backends: readonly NatBackend[];
}

/** The facts of this start. */
export interface NetworkStart extends Pick<NetworkRecord, 'bootId' | 'stateDir'> {
  readonly podCidr: string;
  /** `none`: the machine has no program for NAT. */
  readonly backend: NatBackend | 'none';
  /** Whether the machine has host port chains now, of any network. */
  readonly hostPortChainsExist: boolean;
}

/** Computes the record of this start from that of the previous process, if any. */
export function nextNetworkRecord(previous: NetworkRecord | undefined, start: NetworkStart): NetworkRecord {
  const { bootId, stateDir, podCidr, backend } = start;
  const isOfThisBoot = previous?.bootId === bootId;
  const kept = isOfThisBoot && previous.stateDir === stateDir ? previous.podCidrs : [];
  return {
    bootId,
    stateDir,
    ownsHostPortChains: isOfThisBoot ? previous.ownsHostPortChains : !start.hostPortChainsExist,
    podCidrs: [...new Set([...kept, podCidr])],
    backends: [...new Set([...(isOfThisBoot ? previous.backends : []), ...(backend === 'none' ? [] : [backend])])],
  };
}

/** Versions that recorded none had iptables alone. */
const BACKENDS: readonly NatBackend[] = ['iptables', 'nftables'];

/** Returns `undefined` for a truncated record: the machine crashed, which has cleared the rules too. */
export function decodeNetworkRecord(text: string): NetworkRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<Record<keyof NetworkRecord, unknown>>;
    const { bootId, stateDir, ownsHostPortChains, podCidrs, backends } = record;
    if (typeof bootId !== 'string' || typeof stateDir !== 'string' || !Array.isArray(podCidrs)) return undefined;
    return {
      bootId,
      stateDir,
      ownsHostPortChains: ownsHostPortChains === true,
      podCidrs: podCidrs.filter((cidr) => typeof cidr === 'string'),
      backends: Array.isArray(backends) ? BACKENDS.filter((backend) => backends.includes(backend)) : ['iptables'],
    };
  } catch {
    return undefined;
  }
}
