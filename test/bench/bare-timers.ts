/** Timers that fire once a second in an otherwise idle process: their lateness is that of the machine. */
import { setTimeout as delay } from 'node:timers/promises';

const [, , countText = '100', periodText = '1000'] = process.argv;
const periodMs = Number(periodText);
let late: number[] = [];

/** Each message from the parent requests the values since the last one: milliseconds, in ascending order. */
process.on('message', () => {
  process.send?.(late.toSorted((a, b) => a - b));
  late = [];
});
process.on('disconnect', () => process.exit());
for (let index = 0; index < Number(countText); index++) void ring(Math.random() * periodMs);

async function ring(delayMs: number): Promise<never> {
  await delay(delayMs);
  const began = performance.now();
  for (let tick = 1; ; tick++) {
    await delay(Math.max(0, began + tick * periodMs - performance.now()));
    late.push(Math.max(0, performance.now() - began - tick * periodMs));
  }
}
