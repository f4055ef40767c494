import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { skipReason, startContainerd } from '../integration/containerd-fixture.ts';
import { median } from '../integration/cri-calls.ts';
import { startEmbedded, type TestRuntime } from '../integration/runtime-fixture.ts';

/** One of the two compared runtimes. */
export interface Side {
  readonly name: 'containerd' | 'nodelet';
  readonly runtime: TestRuntime;
  readonly cri: CriConnection;
}

export interface BothRuntimes extends AsyncDisposable {
  /** containerd first. */
  readonly sides: readonly [Side, Side];
}

const CALL_MS = 600_000;
const NODE = join(import.meta.dirname, '../../scripts/node');
const BUNDLE = join(import.meta.dirname, '../../dist/nodelet.mjs');

/** Debian's containerd with runc, and `nodelet cri`: the bundle of `make dist`, or this checkout (`source`). */
export async function startBoth({ source }: { readonly source: boolean }): Promise<BothRuntimes> {
  const skip = skipReason();
  if (skip) throw new Error(skip);
  if (!source && !existsSync(BUNDLE)) throw new Error('dist/nodelet.mjs is missing: run make dist');
  const containerd = sideOf('containerd', await startContainerd());
  const nodelet = sideOf('nodelet', await startEmbedded(source ? {} : { command: [NODE, BUNDLE] }));
  return {
    sides: [containerd, nodelet],
    async [Symbol.asyncDispose]() {
      for (const { cri, runtime } of [nodelet, containerd]) {
        cri.close();
        await runtime.stop();
      }
    },
  };
}

function sideOf(name: Side['name'], runtime: TestRuntime): Side {
  const cri = connectCri(runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: CALL_MS });
  return { name, runtime, cri };
}

/** Alternates, so that other load on the machine affects both; the first round warms up. */
export async function inTurns<T>(
  [one, other]: readonly [Side, Side],
  rounds: number,
  measure: (side: Side) => Promise<T>,
): Promise<readonly [T[], T[]]> {
  const [ofOne, ofOther]: [T[], T[]] = [[], []];
  for (const side of [one, other]) await measure(side);
  for (let round = 0; round < rounds; round++) {
    const steps = [async () => ofOne.push(await measure(one)), async () => ofOther.push(await measure(other))];
    for (const step of round % 2 === 0 ? steps : steps.toReversed()) await step();
  }
  return [ofOne, ofOther];
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

export function header(): void {
  console.log(`${''.padEnd(TITLE)} ${'containerd'.padStart(FIGURE)} ${'nodelet'.padStart(FIGURE)}  ratio   from–to`);
}

const TITLE = 36;
const FIGURE = 12;

/** A line of the table: for each side the median, the minimum and the maximum; absent: not supported. */
export function row(
  title: string,
  figures: readonly [readonly number[] | undefined, readonly number[]],
  unit: string,
  middle: (values: readonly number[]) => number = median,
): void {
  const digits = Math.max(...figures[1]) < 100 ? 1 : 0;
  const shown = figures.map((values) => (values ? `${middle(values).toFixed(digits)} ${unit}` : '–').padStart(FIGURE));
  const spread = figures.map((values) =>
    values ? `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}` : '',
  );
  const ratio = figures[0] ? (middle(figures[1]) / middle(figures[0])).toFixed(2) : '';
  console.log(`${title.padEnd(TITLE)} ${shown.join(' ')} ${ratio.padStart(6)}   ${spread.join(', ')}`);
}
