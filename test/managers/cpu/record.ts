/**
 * Asks kubelet's own CPU manager (main.go) to place random sequences of pods, and compares its decisions with ours. Writes
 * them to test/data/managers/cpu.json, which src/kubelet/cpu-manager/kubelet-decisions.test.ts reads without Go.
 *
 *   test/managers/cpu/record.sh [--seeds A-B]      compare these sequences; writes nothing
 *   test/managers/cpu/record.sh --write            record anew
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { MACHINES } from '../../../src/kubelet/cpu-manager/machines.fixture.ts';
import { placeSequence } from './place-sequence.ts';
import { digestOf, drawSequence } from './pod-sequences.ts';

const COMPARED = 5000;
/** The first of them are recorded: unit tests have no time for all. */
const RECORDED = 600;
/** So many are recorded in full, for a reader of the file. Of others it has a digest. */
const IN_FULL = 40;
const FILE = new URL('../../data/managers/cpu.json', import.meta.url);
const HOW =
  'Decisions of the CPU manager of kubelet v1.36.4 (k8s.io/kubernetes/pkg/kubelet/cm/cpumanager, static policy) about the ' +
  'sequences of pods that drawSequence() draws from the seeds 1, 2, …; recorded by `make cpu-decisions`, see test/managers/cpu';

const { values } = parseArgs({
  options: {
    kubelet: { type: 'string', default: '' },
    seeds: { type: 'string', default: `1-${COMPARED}` },
    write: { type: 'boolean', default: false },
  },
});
const [first = 1, last = first] = values.seeds.split('-').map(Number);
const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index);

if (values.write && (first !== 1 || last < RECORDED)) throw new Error(`--write needs the sequences 1-${RECORDED}`);
const decisions = askKubelet(seeds);
let differences = 0;
for (const [index, seed] of seeds.entries()) {
  const [theirs = [], ours] = [decisions[index], await placeSequence(drawSequence(seed))];
  const step = theirs.findIndex((text, at) => text !== ours[at]);
  if (step < 0 && theirs.length === ours.length) continue;
  if (++differences > 5) continue;
  console.log(`seed ${seed}, step ${step}: ${JSON.stringify(drawSequence(seed))}`);
  console.log(`  kubelet: ${theirs[step]}\n  ours:    ${ours[step]}`);
}
console.log(`${seeds.length} sequences, ${differences} differ`);
if (values.write) {
  const recorded = {
    how: HOW,
    inFull: decisions.slice(0, IN_FULL),
    digests: decisions.slice(IN_FULL, RECORDED).map(digestOf).join(' '),
  };
  mkdirSync(new URL('.', FILE), { recursive: true });
  writeFileSync(FILE, `${JSON.stringify(recorded, undefined, 2)}\n`);
}
process.exitCode = differences === 0 ? 0 : 1;

/** Returns the texts of each sequence. */
function askKubelet(asked: readonly number[]): readonly (readonly string[])[] {
  const machines = [...MACHINES].map(([name, { cpus }]) => {
    const rows = [...cpus].map(([cpu, place]) => {
      return [cpu, place.coreId, place.socketId, place.numaNodeId, place.uncoreCacheId];
    });
    return [name, rows] as const;
  });
  const input = JSON.stringify({ machines: Object.fromEntries(machines), sequences: asked.map(drawSequence) });
  const { stdout, stderr, status } = spawnSync(values.kubelet, { input, encoding: 'utf8', maxBuffer: 2 ** 30 });
  if (status !== 0) throw new Error(`${values.kubelet}: ${stderr}`);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line): readonly string[] => JSON.parse(line));
}
