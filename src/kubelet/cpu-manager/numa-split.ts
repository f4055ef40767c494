/** What a request is to be spread over. */
export interface SplitRequest {
  /** With available CPUs, in the order in which they are tried. */
  readonly numaNodes: readonly number[];
  /** The number of available CPUs by NUMA node. */
  readonly available: ReadonlyMap<number, number>;
  readonly machine: { readonly cpus: number; readonly numaNodes: number };
  readonly count: number;
  /** CPUs are taken in groups of this size. Divides `count`. */
  readonly groupSize: number;
}

/** How many CPUs each NUMA node gives. */
export interface NumaSplit {
  readonly numaNodes: readonly number[];
  /** The CPUs of each of `numaNodes`. */
  readonly fromEach: number;
  /** What is left then, and is taken in turns from `remainderNodes`. */
  readonly remainder: number;
  readonly remainderNodes: readonly number[];
}

/**
 * Finds as few NUMA nodes as possible that can give the same number of CPUs each, as kubelet does for
 * `distribute-cpus-across-numa`. Of several combinations, the one that leaves the nodes most evenly used. `undefined` if
 * no combination can.
 */
export function splitAcrossNumaNodes(request: SplitRequest): NumaSplit | undefined {
  const { fewest, most } = numaNodeRange(request);
  for (let size = fewest; size <= most; size++) {
    const split = bestSplit(request, size);
    if (split !== undefined) return split;
  }
  return undefined;
}

function numaNodeRange({ available, machine, count, groupSize }: SplitRequest): { fewest: number; most: number } {
  const groupsPerNode = Math.ceil(Math.ceil(machine.cpus / groupSize) / machine.numaNodes);
  const groupsNeeded = Math.ceil(count / groupSize);
  return { fewest: Math.ceil(groupsNeeded / groupsPerNode), most: Math.min(groupsNeeded, available.size) };
}

interface Scored {
  readonly balance: number;
  readonly combination: Combination;
  readonly remainderNodes: Combination | undefined;
}

function bestSplit(request: SplitRequest, size: number): NumaSplit | undefined {
  const { count, groupSize } = request;
  const fromEach = Math.floor(count / size / groupSize) * groupSize;
  let best: Scored | undefined;
  for (const combination of combinations(request.numaNodes, size)) {
    if (best?.balance === 0) break;
    const scored = scoreOf(combination, fromEach, request);
    if (scored && (best === undefined || scored.balance < best.balance)) best = scored;
  }
  if (best === undefined) return undefined;
  return {
    numaNodes: best.combination.nodes(),
    fromEach,
    remainder: count - fromEach * size,
    remainderNodes: best.remainderNodes?.nodes() ?? [],
  };
}

function scoreOf(combination: Combination, fromEach: number, request: SplitRequest): Scored | undefined {
  const { numaNodes, available, count, groupSize } = request;
  const nodes = combination.nodes();
  const sizes = nodes.map((node) => available.get(node) ?? 0);
  const groups = sizes.reduce((sum, size) => sum + Math.floor(size / groupSize), 0);
  if (groups * groupSize < count || sizes.some((size) => size < fromEach)) return undefined;
  const left = new Map(numaNodes.map((node) => [node, available.get(node) ?? 0]));
  for (const node of nodes) left.set(node, (left.get(node) ?? 0) - fromEach);
  const remainder = count - fromEach * nodes.length;
  if (remainder === 0) return { balance: deviation([...left.values()]), combination, remainderNodes: undefined };
  const withRest = nodes.filter((node) => (left.get(node) ?? 0) >= groupSize);
  let best: Scored | undefined;
  for (let size = withRest.length; size >= 1; size--) {
    for (const remainderNodes of combinations(withRest, size)) {
      const after = takeInTurns(left, remainderNodes.nodes(), remainder, groupSize);
      if (after === undefined) continue;
      const balance = deviation([...after.values()]);
      if (best === undefined || balance < best.balance) best = { balance, combination, remainderNodes };
    }
  }
  return best;
}

/** What is left on each node. `undefined`: the nodes do not have enough whole groups, for which kubelet never returns. */
function takeInTurns(
  available: ReadonlyMap<number, number>,
  nodes: readonly number[],
  count: number,
  groupSize: number,
): ReadonlyMap<number, number> | undefined {
  const left = new Map(available);
  let rest = count;
  while (rest > 0) {
    const before = rest;
    for (const node of nodes) {
      const size = left.get(node) ?? 0;
      if (rest === 0 || size < groupSize) continue;
      left.set(node, size - groupSize);
      rest -= groupSize;
    }
    if (rest === before) return undefined;
  }
  return left;
}

/** The standard deviation to three digits, of a mean to three digits. */
function deviation(sizes: readonly number[]): number {
  const mean = toThreeDigits(sizes.reduce((sum, size) => sum + size, 0) / sizes.length);
  const squares = sizes.reduce((sum, size) => sum + (size - mean) * (size - mean), 0);
  return toThreeDigits(Math.sqrt(squares / sizes.length));
}

function toThreeDigits(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/**
 * Nodes of one combination. kubelet keeps a slice of them while it goes on with the next combinations, which overwrite the
 * memory that they share: from four nodes on, the combination that it uses in the end may differ from the one that it chose.
 * The same CPUs are only assigned if this is repeated, so `nodes` returns what the slice has at the moment of the call.
 */
class Combination {
  readonly #memory: number[];
  readonly #length: number;
  readonly #capacity: number;

  constructor(memory: number[] = [], length = 0, capacity = 0) {
    this.#memory = memory;
    this.#length = length;
    this.#capacity = capacity;
  }

  nodes(): readonly number[] {
    return this.#memory.slice(0, this.#length);
  }

  /** Go's `append`: in place while there is capacity, which doubles otherwise. */
  with(node: number): Combination {
    const isFull = this.#length === this.#capacity;
    const memory = isFull ? this.#memory.slice(0, this.#length) : this.#memory;
    memory[this.#length] = node;
    return new Combination(memory, this.#length + 1, isFull ? Math.max(1, this.#capacity * 2) : this.#capacity);
  }
}

/** All subsets of this size, in order. */
function* combinations(
  nodes: readonly number[],
  size: number,
  start = 0,
  chosen = new Combination(),
): Generator<Combination> {
  if (size === 0) {
    yield chosen;
    return;
  }
  for (let index = start; index <= nodes.length - size; index++) {
    const node = nodes[index];
    if (node !== undefined) yield* combinations(nodes, size - 1, index + 1, chosen.with(node));
  }
}
