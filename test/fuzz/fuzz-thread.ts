import { parentPort, workerData } from 'node:worker_threads';
import { errorText } from '../../src/base/error-text.ts';
import { Draw } from '../sim/draw.ts';
import { readCorpus } from './corpus.ts';
import { CurrentInput } from './current-input.ts';
import { type Failure, fuzzTarget } from './fuzz-run.ts';
import { fixedPumps, growthFailure, randomPump } from './growth.ts';
import { shrinkInput } from './shrink-input.ts';
import { findTarget } from './targets.ts';

/** Runs one target in a thread: an endless loop must not stop the thread that reports it. */
export interface ThreadJob {
  readonly target: string;
  readonly seed: number;
  readonly seconds: number;
  readonly current: SharedArrayBuffer;
}

export interface ThreadReport {
  readonly inputs: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly growthChecks: number;
  /** One input per kind. */
  readonly kinds: ReadonlyMap<string, Uint8Array>;
  readonly failure: { readonly input: Uint8Array; readonly text: string } | undefined;
}

/** The part of the time for growth checks, and the inputs between two of them. */
const GROWTH_SHARE = 0.15;

async function run({ target: name, seed, seconds, current }: ThreadJob): Promise<ThreadReport> {
  const target = findTarget(name);
  const corpus = readCorpus(name).map(({ input }) => input);
  const shown = new CurrentInput(current);
  const onInput = (input: Uint8Array): void => shown.set(input);
  const start = performance.now();
  const passed = (share: number): boolean => performance.now() - start > share * seconds * 1000;
  const { kinds, ...result } = await fuzzTarget(target, corpus, seed, () => passed(1 - GROWTH_SHARE), onInput);
  let failure: Failure | undefined = result.failure;
  const draw = new Draw(seed, `${name} growth`);
  const samples = [...target.seeds, ...corpus, ...kinds.values()];
  let growthChecks = 0;
  for (; !failure && !passed(1); growthChecks++) {
    const sample = samples[draw.int(0, samples.length - 1)] ?? new Uint8Array();
    const pumped = fixedPumps(target)[growthChecks] ?? randomPump(target, sample, draw);
    failure = await growthFailure(target, pumped, onInput);
  }
  const isGrowth = failure?.kind === 'failed: growth';
  const input = failure && !isGrowth ? await shrinkInput(target, failure.input, failure.kind) : failure?.input;
  return {
    ...result,
    growthChecks,
    kinds,
    failure: failure && input && { input, text: stackOf(failure.error) },
  };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 8).join('\n') : errorText(error);
}

parentPort?.postMessage(await run(workerData as ThreadJob)); // posted by fuzz.ts
