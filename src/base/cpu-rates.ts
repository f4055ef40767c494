/** Readings closer together are inaccurate: the previous rate stays. */
const MIN_WINDOW_NS = 1_000_000_000n;

interface Sample {
  readonly atNs: bigint;
  readonly cpuNs: bigint;
  readonly nanoCores: bigint | undefined;
}

/**
 * CPU rates in nanocores, from this reading and the previous one of any caller. Nothing is sampled in the background, so
 * the window is the time between calls, and the first result is `undefined`.
 */
export class CpuRates {
  readonly #samples = new Map<string, Sample>();

  /** `atNs` must be monotonic. */
  nanoCores(id: string, cpuNs: bigint, atNs: bigint): bigint | undefined {
    const before = this.#samples.get(id);
    const windowNs = before ? atNs - before.atNs : 0n;
    if (before && windowNs < MIN_WINDOW_NS) return before.nanoCores;
    // A smaller value means a new cgroup of the same name.
    const used = before && cpuNs >= before.cpuNs ? cpuNs - before.cpuNs : undefined;
    const nanoCores = used === undefined ? undefined : (used * 1_000_000_000n) / windowNs;
    this.#samples.set(id, { atNs, cpuNs, nanoCores });
    return nanoCores;
  }

  /** Drops samples of ids that no longer exist. */
  retain(exists: (id: string) => boolean): void {
    for (const id of this.#samples.keys()) if (!exists(id)) this.#samples.delete(id);
  }
}
