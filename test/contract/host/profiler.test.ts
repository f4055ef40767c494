/** Profiles are bounded, one at a time, and end with their client: those of this process and those in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as realSleep } from 'node:timers/promises';
import { MemoryProfiler } from '../../../src/host/fake/memory-profiler.ts';
import { VirtualClock } from '../../../src/host/fake/virtual-clock.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import { createLinuxProfiler } from '../../../src/host/linux/process/linux-profiler.ts';
import type { Profiler, SampledStacks } from '../../../src/host/profiler.ts';

interface ProfilerWorld {
  readonly profiler: Profiler;
  /** Lets time pass while a function of this file works. */
  work(ms: number): Promise<void>;
}

const worlds: Record<string, () => ProfilerWorld> = {
  linux: () => ({ profiler: createLinuxProfiler(linuxClock), work: workFor }),
  memory: () => {
    const clock = new VirtualClock();
    const profiler = new MemoryProfiler(clock);
    profiler.functionName = 'busyWork';
    return { profiler, work: (ms) => clock.advance(ms) };
  },
};

const kept: unknown[] = [];

async function workFor(ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    kept.push(busyWork());
    await realSleep(0);
  }
}

/** Takes time and memory. */
function busyWork(): readonly string[] {
  return Array.from({ length: 20_000 }, (_, index) => `${index} of ${kept.length}`);
}

function functionsOf({ frames, stacks }: SampledStacks): ReadonlySet<string | undefined> {
  return new Set(stacks.flatMap((stack) => stack.frames.map((index) => frames[index]?.functionName)));
}

const never = new AbortController().signal;

for (const [name, makeWorld] of Object.entries(worlds)) {
  const kinds: Record<string, (profiler: Profiler, ms: number, signal: AbortSignal) => Promise<SampledStacks>> = {
    cpu: (profiler, ms, signal) => profiler.cpu(ms, signal),
    'live heap': (profiler, ms, signal) => profiler.heap('live', ms, signal),
    'whole heap': (profiler, ms, signal) => profiler.heap('all', ms, signal),
  };
  for (const [kind, take] of Object.entries(kinds)) {
    test(`${name} profiler: a ${kind} profile shows which functions worked`, async () => {
      const { profiler, work } = makeWorld();
      const profile = take(profiler, 500, never);
      await work(500);
      const taken = await profile;
      assert.ok(functionsOf(taken).has('busyWork'), JSON.stringify([...functionsOf(taken)]));
      assert.ok(taken.durationMs >= 499 && taken.period > 0);
      assert.ok(taken.stacks.every(({ samples, amount }) => samples > 0 && amount > 0));
    });

    test(`${name} profiler: one ${kind} profile at a time, and the next one after an abort`, async () => {
      const { profiler, work } = makeWorld();
      const client = new AbortController();
      const first = take(profiler, 3_600_000, client.signal);
      await assert.rejects(take(profiler, 1, never), { name: 'ProfilerBusyError' });
      client.abort();
      await first; // an abort ends it, and is no error
      const next = take(profiler, 20, never);
      await work(20);
      await next;
    });
  }
}
