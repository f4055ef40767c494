/** The last hour, in slots of five minutes: a summary covers the present slot and the eleven before it. */
const SLOT_MS = 300_000;
const SLOTS = 12;

/** Durations are counted in cells, of which each is a fifth longer than the one before: from 0.1 ms to two hours. */
const FIRST_MS = 0.1;
const FACTOR = 1.2;
const CELLS = 100;

/** Durations of the last hour. The quantiles are those of a histogram, at most a tenth off, and never above the maximum. */
export interface WindowSummary {
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

interface Slot {
  /** Number of the slot since the clock began; a slot of an earlier hour is empty. */
  number: number;
  readonly counts: Uint32Array;
  maxMs: number;
}

/** Counts durations of the last hour in bounded memory: five kilobytes, however many there are. */
export class DurationWindow {
  readonly #slots: Slot[] = [];

  add(durationMs: number, nowMs: number): void {
    const slot = this.#slot(Math.floor(nowMs / SLOT_MS));
    const cell = cellOf(durationMs);
    slot.counts[cell] = (slot.counts[cell] ?? 0) + 1;
    slot.maxMs = Math.max(slot.maxMs, durationMs);
  }

  /** `undefined`: there was none in the last hour. */
  summary(nowMs: number): WindowSummary | undefined {
    const oldest = Math.floor(nowMs / SLOT_MS) - SLOTS + 1;
    const recent = this.#slots.filter(({ number }) => number >= oldest);
    const counts = Array.from({ length: CELLS }, (_, cell) =>
      recent.reduce((sum, slot) => sum + (slot.counts[cell] ?? 0), 0),
    );
    const count = counts.reduce((sum, each) => sum + each, 0);
    if (count === 0) return undefined;
    const maxMs = Math.max(...recent.map((slot) => slot.maxMs));
    const quantile = (part: number): number => Math.min(maxMs, cellMs(cellAtRank(counts, Math.ceil(count * part))));
    return { count, p50Ms: quantile(0.5), p90Ms: quantile(0.9), p99Ms: quantile(0.99), maxMs };
  }

  #slot(number: number): Slot {
    const at = number % SLOTS;
    const known = this.#slots[at];
    if (known?.number === number) return known;
    const fresh = known ?? { number, counts: new Uint32Array(CELLS), maxMs: 0 };
    fresh.number = number;
    fresh.counts.fill(0);
    fresh.maxMs = 0;
    this.#slots[at] = fresh;
    return fresh;
  }
}

function cellOf(durationMs: number): number {
  if (durationMs <= FIRST_MS) return 0;
  return Math.min(CELLS - 1, Math.ceil(Math.log(durationMs / FIRST_MS) / Math.log(FACTOR)));
}

/** The middle of a cell. */
function cellMs(cell: number): number {
  return FIRST_MS * FACTOR ** (cell - 0.5);
}

/** The cell of the `rank`th shortest duration, from one. */
function cellAtRank(counts: readonly number[], rank: number): number {
  let before = 0;
  return counts.findIndex((count) => {
    before += count;
    return before >= rank;
  });
}
