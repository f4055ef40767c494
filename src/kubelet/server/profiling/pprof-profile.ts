import type { SampledStacks } from '../../../host/profiler.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

/** A measured value: `cpu` in `nanoseconds`. */
export interface ValueType {
  readonly type: string;
  readonly unit: string;
}

const NS_PER_MS = 1_000_000;

/** Encodes a profile in the format of `go tool pprof`: profile.proto, not yet compressed. */
export function pprofProfile(stacks: SampledStacks, samples: ValueType, amount: ValueType): Uint8Array {
  const strings = new StringTable();
  const valueType = ({ type, unit }: ValueType): ProtobufWriter =>
    new ProtobufWriter().integer(1, strings.index(type)).integer(2, strings.index(unit));
  const profile = new ProtobufWriter().message(1, valueType(samples)).message(1, valueType(amount));
  for (const stack of stacks.stacks) {
    const locations = stack.frames.map((frame) => frame + 1);
    profile.message(
      2,
      new ProtobufWriter().integers(1, locations).integers(2, [stack.samples, Math.round(stack.amount)]),
    );
  }
  // Each frame is one location and one function; ids begin at 1.
  for (const [index, { line }] of stacks.frames.entries()) {
    const at = new ProtobufWriter().integer(1, index + 1).integer(2, line);
    profile.message(4, new ProtobufWriter().integer(1, index + 1).message(4, at));
  }
  for (const [index, { functionName, file, line }] of stacks.frames.entries()) {
    const name = strings.index(functionName);
    const described = new ProtobufWriter()
      .integer(1, index + 1)
      .integer(2, name)
      .integer(3, name);
    profile.message(5, described.integer(4, strings.index(file)).integer(5, line));
  }
  const periodType = valueType(amount);
  for (const text of strings.texts) profile.text(6, text);
  return profile
    .integer(9, BigInt(Math.round(stacks.startedMs)) * BigInt(NS_PER_MS))
    .integer(10, Math.round(stacks.durationMs * NS_PER_MS))
    .message(11, periodType)
    .integer(12, stacks.period)
    .finish();
}

/** Each text once; the first one is empty. */
class StringTable {
  readonly texts: string[] = [''];
  readonly #indexes = new Map([['', 0]]);

  index(text: string): number {
    const known = this.#indexes.get(text);
    if (known !== undefined) return known;
    this.#indexes.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }
}
