/**
 * Runs the whole agent in simulated worlds with faults and checks invariants; see README.md.
 *
 *   scripts/node test/sim/sim.ts [--seeds A-B] [--seed N] [--verbose] [--pods N] [--hours H] [--mutations]
 */
import { parseArgs } from 'node:util';
import { MUTATIONS } from './mutations.ts';
import { type PlanOptions, planWorld } from './plan-world.ts';
import { runSeeds, type SeedResult, THREADS } from './pool.ts';
import { runWorld, type WorldResult } from './run-world.ts';
import { type Selection, selectAll, selectFromPlan, shrink } from './shrink.ts';

const SHRINK_LIMIT_MS = 60_000;
/** A mutation must be found within this number of worlds. */
const SEEDS_PER_MUTATION = 100;
const LINES_SHOWN = 60;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1-300' },
    seed: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    pods: { type: 'string', default: '30' },
    hours: { type: 'string', default: '1' },
    actions: { type: 'string' },
    faults: { type: 'string' },
    mutations: { type: 'boolean', default: false },
    mutation: { type: 'string', multiple: true },
  },
});
const options: PlanOptions = { pods: Number(values.pods), hours: Number(values.hours) };

if (values.mutations || values.mutation) process.exitCode = await runMutations(values.mutation);
else if (values.seed !== undefined) process.exitCode = await replay(Number(values.seed));
else process.exitCode = await runAll(rangeOf(values.seeds));

/** Runs all seeds and explains the first one that fails. */
async function runAll(seeds: readonly number[]): Promise<number> {
  const began = Date.now();
  const failed: SeedResult[] = [];
  let processCount = 0;
  let done = 0;
  await runSeeds(seeds, options, (result) => {
    done++;
    processCount += result.processCount;
    if (!result.violation) return true;
    failed.push(result);
    console.log(`seed ${result.seed}: invariant ${result.violation.invariant}: ${result.violation.text}`);
    return true;
  });
  const seconds = Math.round((Date.now() - began) / 1000);
  const size = `${options.pods} pods, ${options.hours} h each`;
  console.log(`sim: ${done} worlds (${size}), ${processCount} agent processes, ${failed.length} failed, ${seconds} s`);
  const first = failed.sort((a, b) => a.seed - b.seed)[0];
  if (!first) return 0;
  await explain(first.seed);
  return 1;
}

async function explain(seed: number): Promise<void> {
  const plan = planWorld(seed, options);
  const whole = await runWorld(plan);
  const { selection, result } = await shrink(plan, whole, SHRINK_LIMIT_MS);
  console.log(`\nseed ${seed}, as short as it could be made:`);
  show(result);
  console.log(`\nreplay: ${replayCommand(seed, selection)}`);
}

/** Runs one world, whole or with the selection of `--actions` and `--faults`. */
async function replay(seed: number): Promise<number> {
  const plan = planWorld(seed, options);
  const all = selectAll(plan);
  const selection: Selection = {
    actions: listOf(values.actions) ?? all.actions,
    faults: listOf(values.faults) ?? all.faults,
  };
  const result = await runWorld(selectFromPlan(plan, selection));
  const { violation, lines, hash, processCount } = result;
  if (values.verbose) for (const line of lines) console.log(line);
  else if (violation) show(result);
  console.log(
    `seed ${seed}: ${processCount} agent processes, trace ${hash}, ${violation ? `invariant ${violation.invariant}: ${violation.text}` : 'no violation'}`,
  );
  return violation ? 1 : 0;
}

/** Runs every mutation; each must be found. One thread per mutation: most are found in one of the first worlds. */
async function runMutations(names: readonly string[] = MUTATIONS.map(({ name }) => name)): Promise<number> {
  const began = Date.now();
  const waiting = [...names];
  let missed = 0;
  const runNext = async (): Promise<void> => {
    for (let mutation = waiting.shift(); mutation !== undefined; mutation = waiting.shift()) {
      const caught = await firstViolation(mutation);
      if (!caught) missed++;
      const how = caught?.violation ? `seed ${caught.seed}, invariant ${caught.violation.invariant}` : 'NOT FOUND';
      console.log(`${mutation}: ${how}`);
    }
  };
  await Promise.all(Array.from({ length: THREADS }, runNext));
  const seconds = Math.round((Date.now() - began) / 1000);
  console.log(`mutations: ${names.length - missed} of ${names.length} found, ${seconds} s`);
  return missed === 0 ? 0 : 1;
}

async function firstViolation(mutation: string): Promise<SeedResult | undefined> {
  let caught: SeedResult | undefined;
  const seeds = Array.from({ length: SEEDS_PER_MUTATION }, (_, index) => index + 1);
  const onResult = (result: SeedResult): boolean => {
    if (result.violation) caught = result;
    return caught === undefined;
  };
  await runSeeds(seeds, { ...options, mutation }, onResult, 1);
  return caught;
}

/** Prints the end of the trace, without lines of other pods. */
function show({ lines: all, violation }: WorldResult): void {
  const isOfAnother = (line: string): boolean =>
    / {2,}\S+ ( |status of )/.test(line) && !line.includes(violation?.uid ?? '');
  const lines = all.filter((line) => !isOfAnother(line));
  if (lines.length > LINES_SHOWN) console.log(`… ${lines.length - LINES_SHOWN} lines before`);
  for (const line of lines.slice(-LINES_SHOWN)) console.log(line);
}

function replayCommand(seed: number, { actions, faults }: Selection): string {
  const size = `--pods ${options.pods} --hours ${options.hours}`;
  const selection = `--actions '${actions.join(',')}' --faults '${faults.join(',')}'`;
  return `scripts/node test/sim/sim.ts --seed ${seed} ${size} ${selection} --verbose`;
}

function rangeOf(text: string): number[] {
  const [from = Number.NaN, to = from] = text.split('-').map(Number);
  if (Number.isNaN(from) || Number.isNaN(to)) throw new Error(`--seeds ${text}: give them as A-B`);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

function listOf(text: string | undefined): number[] | undefined {
  return text
    ?.split(',')
    .filter((item) => item !== '')
    .map(Number);
}
