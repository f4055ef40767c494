/** The network that a process made for its pods; kept in the root folder, so that each later process knows of it. */
export interface NetworkRecord {
  /** Of the boot in which it was written: rules do not outlive it. */
  readonly bootId: string;
  /** Pods are found again only by a process with the same state folder. */
  readonly stateDir: string;
  /** The chains of host ports came with our pods: then they go with them. */
  readonly ownsHostPortChains: boolean;
  /**
   * Every range that has been hidden behind the machine's address since the last end that left nothing: pods of an earlier
   * one may still be there.
   */
  readonly podCidrs: readonly string[];
}

/** What a start knows of itself. */
export interface NetworkStart extends Pick<NetworkRecord, 'bootId' | 'stateDir'> {
  readonly podCidr: string;
  /** Whether the machine has chains of host ports now, of whichever network. */
  readonly hostPortChainsExist: boolean;
}

/** The record of this start, from the one that a previous process wrote, if any. */
export function nextNetworkRecord(earlier: NetworkRecord | undefined, start: NetworkStart): NetworkRecord {
  const { bootId, stateDir, podCidr } = start;
  const isOfThisBoot = earlier?.bootId === bootId;
  const kept = isOfThisBoot && earlier.stateDir === stateDir ? earlier.podCidrs : [];
  return {
    bootId,
    stateDir,
    ownsHostPortChains: isOfThisBoot ? earlier.ownsHostPortChains : !start.hostPortChainsExist,
    podCidrs: [...new Set([...kept, podCidr])],
  };
}

/** `undefined`: cut short by a crash of the machine, which has cleared the rules too. */
export function decodeNetworkRecord(text: string): NetworkRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<Record<keyof NetworkRecord, unknown>>;
    const { bootId, stateDir, ownsHostPortChains, podCidrs } = record;
    if (typeof bootId !== 'string' || typeof stateDir !== 'string' || !Array.isArray(podCidrs)) return undefined;
    return {
      bootId,
      stateDir,
      ownsHostPortChains: ownsHostPortChains === true,
      podCidrs: podCidrs.filter((cidr) => typeof cidr === 'string'),
    };
  } catch {
    return undefined;
  }
}
