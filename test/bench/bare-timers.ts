/** Timers that ring once a second in a process that does nothing else: how late they are is the machine's doing. */
import { setTimeout as delay } from 'node:timers/promises';

const [, , countText = '100', periodText = '1000'] = process.argv;
const periodMs = Number(periodText);
let late: number[] = [];

/** Each message from the parent asks for what came since the last one: milliseconds, in ascending order. */
process.on('message', () => {
  process.send?.(late.toSorted((a, b) => a - b));
  late = [];
});
process.on('disconnect', () => process.exit());
for (let index = 0; index < Number(countText); index++) void ring(Math.random() * periodMs);

async function ring(delayMs: number): Promise<never> {
  await delay(delayMs);
  const began = performance.now();
  for (let beat = 1; ; beat++) {
    await delay(Math.max(0, began + beat * periodMs - performance.now()));
    late.push(Math.max(0, performance.now() - began - beat * periodMs));
  }
}
