/** What a start has to know of the network that earlier ones left on the machine. */
export interface NetworkRecord {
  /** The chains of host ports came with our pods: then they go with them. */
  readonly ownsHostPortChains: boolean;
  /**
   * Every range that has been hidden behind the machine's address since the last end that left nothing: pods of an earlier
   * one may still be there.
   */
  readonly podCidrs: readonly string[];
}

/** As an earlier start wrote it while there were none of our pods yet. */
export function earlierRecord(text: string): NetworkRecord {
  try {
    const { ownsHostPortChains, podCidrs } = JSON.parse(text) as Partial<Record<keyof NetworkRecord, unknown>>;
    return {
      ownsHostPortChains: ownsHostPortChains === true,
      podCidrs: Array.isArray(podCidrs) ? podCidrs.filter((cidr) => typeof cidr === 'string') : [],
    };
  } catch {
    return { ownsHostPortChains: false, podCidrs: [] }; // cut short by a crash of the machine, which has cleared them too
  }
}
