import type { Draw } from '../sim/draw.ts';

/** A parser of bytes from outside, its samples, and the properties that hold for every input. */
export interface FuzzTarget {
  readonly name: string;
  /** Small valid samples. More are in `corpus/<name>`. */
  readonly seeds: readonly Uint8Array[];
  /** Words of the format that mutations insert. */
  readonly tokens?: readonly (string | Uint8Array)[];
  /** The errors that the parser declares. Only these classes, not their subclasses: `Error` does not allow a `TypeError`. */
  readonly errors: readonly ErrorClass[];
  /** Repairs checksums, so that mutated inputs pass the first check. Applied to most mutated inputs. */
  readonly repair?: (input: Uint8Array) => Uint8Array;
  /** Start, repeated part and end of long inputs whose work once grew too fast. */
  readonly pumps?: readonly (readonly [start: string, unit: string, end: string])[];
  /** Limit for the weight of the parsed value per byte of the input. */
  readonly weightPerByte?: number;
  /** Mutated inputs in `make test`; fewer where one takes several milliseconds. */
  readonly testInputs?: number;
  /**
   * Parses the input and returns the parsed value. Throws a `BrokenPropertyError` if a property does not hold, or the
   * parser's error. `draw` depends on the input alone: a saved input fails again.
   */
  run(input: Uint8Array, draw: Draw): unknown;
}

export type ErrorClass = abstract new (...args: never[]) => Error;

/** A parser returned a value that violates a property of its target. */
export class BrokenPropertyError extends Error {
  override readonly name = 'BrokenPropertyError';
}

/** Throws a `BrokenPropertyError` with the message. */
export function requireProperty(holds: boolean, message: string): asserts holds {
  if (!holds) throw new BrokenPropertyError(message);
}

export function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'utf8'));
}

/** Each character is one byte. */
export function binary(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'));
}

/** The text that a parser of text files gets: invalid UTF-8 is replaced. */
export function textOf(input: Uint8Array): string {
  return new TextDecoder().decode(input);
}

/** Seeds that are texts. */
export function texts(...samples: readonly string[]): readonly Uint8Array[] {
  return samples.map(bytesOf);
}

/** Splits bytes at random places. */
export function randomChunks(input: Uint8Array, draw: Draw): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  // Long inputs measure how the work grows: no caller reads them byte by byte.
  const longest = input.length > 16_384 ? 4096 : draw.pick([1, 3, 16, 600]);
  for (let at = 0; at < input.length; ) {
    const length = draw.int(Math.ceil(longest / 4), longest);
    chunks.push(input.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

export async function* asStream(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, void> {
  for (const chunk of chunks) yield chunk;
}
