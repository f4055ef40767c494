import { errorText } from '../../src/base/error-text.ts';
import { Draw } from '../sim/draw.ts';
import { BrokenPropertyError, bytesOf, type FuzzTarget } from './fuzz-target.ts';
import { type MutationContext, mutate } from './mutations.ts';
import { signatureOf, weightOf } from './value-shape.ts';

/** How one input ended. `kind` groups inputs that the parser treats alike. */
export type Outcome =
  | { readonly result: 'accepted' | 'rejected'; readonly kind: string }
  | { readonly result: 'failed'; readonly kind: string; readonly error: unknown };

export interface Failure {
  readonly input: Uint8Array;
  readonly error: unknown;
  readonly kind: string;
}

export interface FuzzCounts {
  inputs: number;
  accepted: number;
  rejected: number;
}

export interface FuzzResult extends Readonly<FuzzCounts> {
  readonly failure: Failure | undefined;
  /** The first input of each kind. */
  readonly kinds: ReadonlyMap<string, Uint8Array>;
}

/** Tokens for every target: names of every object's prototype, and characters that are special somewhere. */
const COMMON_TOKENS = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '"__proto__":',
  '{"toString":1}',
  '{"constructor":{}}',
  'null',
  'true',
  'false',
  '{}',
  '[]',
  '""',
  '[null]',
  '\0',
  '\n',
  '\r\n',
  '\t',
  ' ',
  '\\',
  '"',
  "'",
  '/',
  '../',
  '..',
  '%',
  '%00',
  ':',
  ',',
  '=',
  '-',
  '\u2028',
  '\ufeff',
  '\u00e9',
  '😀',
  '$(x)',
] as const;

/** Longest list of inputs to mutate. */
const MAX_POOL = 500;
/** Mutations of long inputs are slow and seldom change a decisive byte. */
const MAX_POOL_BYTES = 2048;
/** Every parsed value may have this weight, whatever the length of its input. */
const BASE_WEIGHT = 64 * 1024;
const DEFAULT_WEIGHT_PER_BYTE = 256;
/** Go quotes a byte that is not UTF-8 in 12 characters, and some messages quote the input twice. */
const MAX_MESSAGE_FACTOR = 32;

/** Runs one input and checks the properties of every target: declared errors, and bounded values and messages. */
export async function runInput(target: FuzzTarget, input: Uint8Array): Promise<Outcome> {
  try {
    const returned = target.run(input, new Draw(hashOf(input), target.name));
    const value = returned instanceof Promise ? await returned : returned;
    const limit = BASE_WEIGHT + (target.weightPerByte ?? DEFAULT_WEIGHT_PER_BYTE) * input.length;
    const weight = weightOf(value, limit);
    if (weight > limit) throw new BrokenPropertyError(`the parsed value of ${input.length} bytes weighs over ${limit}`);
    return { result: 'accepted', kind: signatureOf(value) };
  } catch (error) {
    if (!isDeclared(target, error)) return { result: 'failed', kind: `failed: ${errorKind(error)}`, error };
    if (error.message.length > 4096 + MAX_MESSAGE_FACTOR * input.length) {
      return {
        result: 'failed',
        kind: 'failed: long message',
        error: new BrokenPropertyError('the message is too long'),
      };
    }
    return { result: 'rejected', kind: errorKind(error) };
  }
}

/** Mutates samples until `until` returns true, or a property fails. The same seed tries the same inputs. */
export async function fuzzTarget(
  target: FuzzTarget,
  corpus: readonly Uint8Array[],
  seed: number,
  until: (inputs: number) => boolean,
  onInput: (input: Uint8Array) => void = () => {},
): Promise<FuzzResult> {
  const draw = new Draw(seed, target.name);
  const pool = [...target.seeds, ...corpus];
  const tokens = [...COMMON_TOKENS, ...(target.tokens ?? []), ...(target.tokens ?? [])].map((token) =>
    typeof token === 'string' ? bytesOf(token) : token,
  );
  const context: MutationContext = { draw, pool, tokens };
  const samples = pool.length;
  const kinds = new Map<string, Uint8Array>();
  const counts: FuzzCounts = { inputs: 0, accepted: 0, rejected: 0 };
  while (!until(counts.inputs)) {
    const input = counts.inputs < samples ? (pool[counts.inputs] ?? bytesOf('')) : nextInput(target, context);
    onInput(input);
    counts.inputs++;
    const outcome = await runInput(target, input);
    if (outcome.result === 'failed') {
      return { ...counts, kinds, failure: { input, error: outcome.error, kind: outcome.kind } };
    }
    counts[outcome.result]++;
    if (kinds.has(outcome.kind)) continue;
    kinds.set(outcome.kind, input);
    // Inputs that the parser treats differently are the samples of further mutations.
    if (input.length > MAX_POOL_BYTES) continue;
    if (pool.length < MAX_POOL) pool.push(input);
    else pool[draw.int(samples, MAX_POOL - 1)] = input;
  }
  return { ...counts, kinds, failure: undefined };
}

function nextInput({ repair }: FuzzTarget, context: MutationContext): Uint8Array {
  const { draw, pool } = context;
  const mutated = mutate(pool[draw.int(0, pool.length - 1)] ?? bytesOf(''), context);
  return repair && draw.chance(0.8) ? repair(mutated) : mutated;
}

function isDeclared({ errors }: FuzzTarget, error: unknown): error is Error {
  return error instanceof Error && errors.some((declared) => error.constructor === declared);
}

/** The error without the values that it quotes. */
export function errorKind(error: unknown): string {
  const name = error instanceof Error ? error.constructor.name : typeof error;
  const text = errorText(error)
    .slice(0, 400)
    .replaceAll(/"(?:[^"\\]|\\.)*"?|\d+/g, '#');
  return `${name}: ${text.slice(0, 60)}`;
}

/** FNV-1a. */
function hashOf(input: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of input) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
