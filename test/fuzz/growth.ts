import type { Draw } from '../sim/draw.ts';
import { type Failure, runInput } from './fuzz-run.ts';
import { BrokenPropertyError, bytesOf, type FuzzTarget } from './fuzz-target.ts';
import { pump } from './mutations.ts';

const SMALL_BYTES = 8 * 1024;
const FACTOR = 8;
/** Less is not worth an attack, and cannot be measured reliably. */
const NOTICEABLE_MS = 300;
/** Quadratic work grows by 64, work of n log n by 10. */
const MAX_RATIO = 40;
const REPEATS = 3;

/** Makes an input of about this many bytes. */
export type Pump = (bytes: number) => Uint8Array;

/** Repeats a random part of a sample. */
export function randomPump({ repair }: FuzzTarget, sample: Uint8Array, draw: Draw): Pump {
  const pumped = pump(sample, draw);
  return (bytes) => repair?.(pumped(bytes)) ?? pumped(bytes);
}

/** The fixed pumps of a target. */
export function fixedPumps({ pumps = [] }: FuzzTarget): readonly Pump[] {
  return pumps.map(
    ([start, unit, end]) =>
      (bytes) =>
        bytesOf(start + unit.repeat(Math.ceil(bytes / unit.length)) + end),
  );
}

/**
 * Compares the time of two lengths. Fails only for a parser that takes noticeable time and whose time grows much faster than
 * its input, so that a busy machine does not fail it.
 */
export async function growthFailure(
  target: FuzzTarget,
  pumped: Pump,
  onInput: (input: Uint8Array) => void = () => {},
): Promise<Failure | undefined> {
  const [small, large] = [pumped(SMALL_BYTES), pumped(SMALL_BYTES * FACTOR)];
  onInput(large);
  const first = await timed(target, large);
  if (first.failure) return first.failure;
  if (first.ms < NOTICEABLE_MS) return undefined;
  const shortest = async (input: Uint8Array): Promise<number> => {
    const times: number[] = [];
    for (let index = 0; index < REPEATS; index++) times.push((await timed(target, input)).ms);
    return Math.min(...times);
  };
  const [smallMs, largeMs] = [await shortest(small), await shortest(large)];
  if (largeMs < NOTICEABLE_MS || largeMs < MAX_RATIO * smallMs) return undefined;
  const what = `${small.length} bytes take ${smallMs.toFixed(1)} ms, ${large.length} bytes ${largeMs.toFixed(0)} ms`;
  return { input: large, kind: 'failed: growth', error: new BrokenPropertyError(`the work grows too fast: ${what}`) };
}

async function timed(
  target: FuzzTarget,
  input: Uint8Array,
): Promise<{ readonly ms: number; readonly failure?: Failure }> {
  // The processor time of this thread: on a busy machine long runs are interrupted, short ones are not.
  const start = process.threadCpuUsage();
  const outcome = await runInput(target, input);
  const { user, system } = process.threadCpuUsage(start);
  const ms = (user + system) / 1000;
  return outcome.result === 'failed' ? { ms, failure: { input, error: outcome.error, kind: outcome.kind } } : { ms };
}
