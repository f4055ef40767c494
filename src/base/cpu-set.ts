/** A set of CPUs, or of other things with small numbers such as cores. Immutable. */
export class CpuSet {
  static readonly EMPTY = new CpuSet([]);
  /** In ascending order. */
  readonly list: readonly number[];
  readonly #members: ReadonlySet<number>;

  constructor(cpus: Iterable<number>) {
    this.#members = new Set(cpus);
    this.list = [...this.#members].sort((a, b) => a - b);
  }

  /** Reads `0-3,8`. Throws a `CpuSetError`. */
  static parse(text: string): CpuSet {
    return new CpuSet(parseCpuSet(text));
  }

  get size(): number {
    return this.list.length;
  }

  get isEmpty(): boolean {
    return this.list.length === 0;
  }

  has(cpu: number): boolean {
    return this.#members.has(cpu);
  }

  union(other: CpuSet): CpuSet {
    return other.isEmpty ? this : new CpuSet([...this.list, ...other.list]);
  }

  difference(other: CpuSet): CpuSet {
    return new CpuSet(this.list.filter((cpu) => !other.has(cpu)));
  }

  intersection(other: CpuSet): CpuSet {
    return new CpuSet(this.list.filter((cpu) => other.has(cpu)));
  }

  equals(other: CpuSet): boolean {
    return this.size === other.size && this.list.every((cpu) => other.has(cpu));
  }

  isSubsetOf(other: CpuSet): boolean {
    return this.list.every((cpu) => other.has(cpu));
  }

  /** As the kernel writes a list of CPUs: `0-3,8`. */
  toString(): string {
    const ranges: [first: number, last: number][] = [];
    for (const cpu of this.list) {
      const range = ranges.at(-1);
      if (range && cpu === range[1] + 1) range[1] = cpu;
      else ranges.push([cpu, cpu]);
    }
    return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
  }
}

/** CPU numbers of a list such as `0-2,7`, in order; what is wrong with the text is a `CpuSetError`. */
export function parseCpuSet(text: string): readonly number[] {
  const cpus = new Set<number>();
  for (const range of text === '' ? [] : text.split(',')) {
    const dash = range.indexOf('-');
    const first = parseCpu(dash < 0 ? range : range.slice(0, dash));
    const last = dash < 0 ? first : parseCpu(range.slice(dash + 1));
    if (first > last) throw new CpuSetError(`invalid range ${JSON.stringify(range)} (${first} > ${last})`);
    for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
  }
  return [...cpus].sort((a, b) => a - b);
}

/** What is wrong with a list of CPUs, in Go's words. */
export function cpuSetError(text: string): string | undefined {
  try {
    parseCpuSet(text);
    return undefined;
  } catch (error) {
    if (error instanceof CpuSetError) return error.message;
    throw error;
  }
}

export class CpuSetError extends Error {
  override readonly name = 'CpuSetError';
}

/** No machine has more; a range up to it is still quick to list. */
const MAX_CPU = 65_535;

function parseCpu(text: string): number {
  if (!/^[-+]?[0-9]+$/.test(text))
    throw new CpuSetError(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  const cpu = Number(text);
  if (cpu > MAX_CPU) throw new CpuSetError(`strconv.Atoi: parsing ${JSON.stringify(text)}: value out of range`);
  return cpu;
}
