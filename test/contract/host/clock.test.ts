/** The contract of clocks, real and virtual. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setTimeout as realSleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Clock } from '../../../src/host/clock.ts';
import { VirtualClock } from '../../../src/host/fake/virtual-clock.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';

interface ClockWorld {
  readonly clock: Clock;
  /** Lets time pass. */
  pass(ms: number): Promise<void>;
}

const LONGER_THAN_A_TIMER_MS = 2 ** 31 + 1000;
const never = new AbortController().signal;

clockContract('linux', () => ({ clock: linuxClock, pass: (ms) => realSleep(ms) }));
clockContract('virtual', () => {
  const clock = new VirtualClock();
  return { clock, pass: (ms) => clock.advance(ms) };
});

function clockContract(name: string, makeWorld: () => ClockWorld): void {
  test(`${name} clock: a sleep ends after its time, not before`, async () => {
    const { clock, pass } = makeWorld();
    const start = clock.monotonic();
    await Promise.all([clock.sleep(20, never), pass(20)]);
    // Node.js rounds the time at which a timer is due to whole milliseconds.
    assert.ok(clock.monotonic() - start >= 19, `${clock.monotonic() - start} ms`);
  });

  test(`${name} clock: sleeps end by due time`, async () => {
    const { clock, pass } = makeWorld();
    const order: number[] = [];
    const sleeps = [60, 5, 30].map((ms) => clock.sleep(ms, never).then(() => order.push(ms)));
    await Promise.all([...sleeps, pass(60)]);
    assert.deepEqual(order, [5, 30, 60]);
  });

  test(`${name} clock: a sleep ends with the signal's reason`, async () => {
    const { clock } = makeWorld();
    const controller = new AbortController();
    const sleep = clock.sleep(60_000, controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(sleep, { message: 'enough' });
    await assert.rejects(clock.sleep(60_000, controller.signal), { message: 'enough' });
  });

  test(`${name} clock: a sleep leaves no listener on the signal`, async () => {
    const { clock, pass } = makeWorld();
    const controller = new AbortController();
    await Promise.all([clock.sleep(1, controller.signal), pass(1)]);
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  });

  test(`${name} clock: a sleep longer than Node's timers does not end at once`, async () => {
    const { clock, pass } = makeWorld();
    const controller = new AbortController();
    const deadline = clock.deadline(LONGER_THAN_A_TIMER_MS);
    const sleep = clock.sleep(LONGER_THAN_A_TIMER_MS, controller.signal).then(
      () => 'slept',
      () => 'aborted',
    );
    await pass(30);
    controller.abort();
    assert.deepEqual([await sleep, deadline.aborted], ['aborted', false]);
  });

  test(`${name} clock: a deadline aborts with a TimeoutError`, async () => {
    const { clock, pass } = makeWorld();
    const deadline = clock.deadline(10);
    assert.equal(deadline.aborted, false);
    await assert.rejects(Promise.all([clock.sleep(60_000, deadline), pass(10)]), { name: 'TimeoutError' });
    assert.equal(deadline.aborted, true);
  });

  test(`${name} clock: the wall clock is in milliseconds since 1970`, () => {
    const { clock } = makeWorld();
    const year = new Date(clock.now()).getUTCFullYear();
    assert.ok(year >= 2026 && year < 2100, String(year));
  });
}

test('linux clock: a deadline does not keep the process alive', async () => {
  const module = fileURLToPath(new URL('../../../src/host/linux/process/linux-clock.ts', import.meta.url));
  const script = `import { linuxClock } from '${module}'; linuxClock.deadline(3_600_000); console.log('ready to end');`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  assert.equal(stdout, 'ready to end\n');
});
