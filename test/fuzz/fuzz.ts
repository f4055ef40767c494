/**
 * Runs the fuzz targets for a longer time than the tests do.
 *
 *   scripts/node test/fuzz/fuzz.ts [--target NAME,…] [--seconds 20] [--seed N] [--keep]
 *   scripts/node test/fuzz/fuzz.ts --target NAME --input FILE
 *
 * `--seconds` is per target. A failing input is shrunk and saved into the corpus. `--keep` also saves inputs that the parser
 * treats differently from all kept ones.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { errorText } from '../../src/base/error-text.ts';
import { keepInput, readCorpus } from './corpus.ts';
import { CurrentInput } from './current-input.ts';
import { runInput } from './fuzz-run.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import type { ThreadJob, ThreadReport } from './fuzz-thread.ts';
import { findTarget, TARGETS } from './targets.ts';

/** An input that takes this much processor time does not end. */
const HANG_MS = 30_000;
const POLL_MS = 500;
const MAX_KEPT = 12;
const MAX_KEPT_BYTES = 1024;

const { values } = parseArgs({
  options: {
    target: { type: 'string' },
    seconds: { type: 'string', default: '20' },
    seed: { type: 'string' },
    input: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});
const chosen = values.target === undefined ? TARGETS : values.target.split(',').map(findTarget);
if (values.input !== undefined) await replay(chosen, values.input);
else await fuzzAll(chosen, Number(values.seconds), values.seed === undefined ? Date.now() % 1e9 : Number(values.seed));

async function replay(targets: readonly FuzzTarget[], path: string): Promise<void> {
  const input = new Uint8Array(readFileSync(path));
  for (const target of targets) {
    const start = performance.now();
    const outcome = await runInput(target, input);
    console.log(`${target.name}: ${outcome.result} in ${(performance.now() - start).toFixed(0)} ms: ${outcome.kind}`);
    if (outcome.result !== 'failed') continue;
    console.log(outcome.error instanceof Error ? outcome.error.stack : errorText(outcome.error));
    process.exitCode = 1;
  }
}

async function fuzzAll(targets: readonly FuzzTarget[], seconds: number, seed: number): Promise<void> {
  console.log(`seed ${seed}, ${seconds} s for each of ${targets.length} targets`);
  for (const { name } of targets) {
    const report = await runThread({ target: name, seed, seconds, current: CurrentInput.allocate() });
    const { inputs, accepted, rejected, growthChecks, kinds, failure } = report;
    const counts = `${inputs} inputs (${accepted} accepted, ${rejected} rejected, ${kinds.size} kinds)`;
    console.log(`${name}: ${counts}, ${growthChecks} growth checks${failure ? ': FAILED' : ''}`);
    if (values.keep) await keepSamples(name, kinds);
    if (!failure) continue;
    process.exitCode = 1;
    const path = relative(process.cwd(), keepInput(name, 'failed', failure.input));
    console.log(`${failure.text}\n  saved ${path} (${failure.input.length} bytes), seed ${seed}; run it again:`);
    console.log(`  scripts/node test/fuzz/fuzz.ts --target ${name} --input ${path}`);
  }
}

function runThread(job: ThreadJob): Promise<ThreadReport> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./fuzz-thread.ts', import.meta.url), { workerData: job });
    const current = new CurrentInput(job.current);
    let last = { count: 0, at: process.cpuUsage() };
    const watch = setInterval(() => {
      const { user, system } = process.cpuUsage(last.at);
      if (current.count !== last.count) last = { count: current.count, at: process.cpuUsage() };
      else if (last.count > 0 && user + system > HANG_MS * 1000) {
        const failure = { input: current.get(), text: `no result after ${HANG_MS / 1000} s of processor time` };
        resolve({ inputs: last.count, accepted: 0, rejected: 0, growthChecks: 0, kinds: new Map(), failure });
        void worker.terminate();
      }
    }, POLL_MS);
    const isDone = (): void => clearInterval(watch);
    worker.once('message', (report: ThreadReport) => resolve(report));
    worker.once('error', (error) => {
      const failure = {
        input: current.get(),
        text: `uncaught in the thread: ${error instanceof Error ? error.stack : errorText(error)}`,
      };
      resolve({ inputs: current.count, accepted: 0, rejected: 0, growthChecks: 0, kinds: new Map(), failure });
    });
    worker.once('exit', () => {
      isDone();
      reject(new Error(`the thread of ${job.target} ended without a report`));
    });
  });
}

/** Keeps small inputs of kinds that the corpus does not have yet. */
async function keepSamples(name: string, kinds: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const target = findTarget(name);
  const kept = readCorpus(name);
  const known = new Set<string>();
  for (const input of [...target.seeds, ...kept.map((entry) => entry.input)])
    known.add((await runInput(target, input)).kind);
  const fresh = [...kinds].filter(([kind, input]) => !known.has(kind) && input.length <= MAX_KEPT_BYTES);
  const smallest = fresh.toSorted(([, a], [, b]) => a.length - b.length);
  const step = Math.max(1, Math.floor(smallest.length / MAX_KEPT));
  const spread = smallest.filter((_, index) => index % step === 0).slice(0, Math.max(0, MAX_KEPT - kept.length));
  for (const [, input] of spread) keepInput(name, 'sample', input);
}
