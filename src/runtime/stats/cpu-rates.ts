/** Two readings closer together than this say little: the rate of the pair before stays. */
const MIN_WINDOW_NS = 1_000_000_000n;

interface Sample {
  readonly atNs: bigint;
  readonly cpuNs: bigint;
  readonly nanoCores: bigint | undefined;
}

/**
 * How many billionths of a core something uses: from this reading and the one before, whoever asked for that. Nothing is
 * read for its sake, so the window is as long as nobody asked, and the first answer is `undefined`.
 */
export class CpuRates {
  readonly #samples = new Map<string, Sample>();

  /** `atNs` only grows. */
  nanoCores(id: string, cpuNs: bigint, atNs: bigint): bigint | undefined {
    const before = this.#samples.get(id);
    const windowNs = before ? atNs - before.atNs : 0n;
    if (before && windowNs < MIN_WINDOW_NS) return before.nanoCores;
    // Less than before: the cgroup is another one of the same name.
    const used = before && cpuNs >= before.cpuNs ? cpuNs - before.cpuNs : undefined;
    const nanoCores = used === undefined ? undefined : (used * 1_000_000_000n) / windowNs;
    this.#samples.set(id, { atNs, cpuNs, nanoCores });
    return nanoCores;
  }

  /** What is not among these is not there any more. */
  keepOnly(isThere: (id: string) => boolean): void {
    for (const id of this.#samples.keys()) if (!isThere(id)) this.#samples.delete(id);
  }
}
