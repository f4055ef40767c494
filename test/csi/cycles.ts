/**
 * Starts and deletes pods with CSI volumes again and again while the agent is killed: `make csi-cycles`.
 *
 *   node test/csi/cycles.ts [--cycles 1000] [--lanes 8] [--seed 1]
 */
import { parseArgs } from 'node:util';
import { runCsiCycles } from './csi-cycles.ts';

const { values } = parseArgs({
  options: {
    cycles: { type: 'string', default: '1000' },
    lanes: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
  },
});
const started = performance.now();
const { cycles, kills } = await runCsiCycles({
  cycles: Number(values.cycles),
  lanes: Number(values.lanes),
  seed: Number(values.seed),
  report: (line) => process.stderr.write(`${line}\n`),
});
const seconds = Math.round((performance.now() - started) / 1000);
process.stdout.write(`csi-cycles: ${cycles} cycles, ${kills} kills of the agent, ${seconds} s, nothing left\n`);
