/**
 * The cost of statistics: CPU time and the longest hold of the event loop of one scrape.
 *
 *   scripts/node test/bench/stats.ts [--runtime embedded|containerd] [--pods 100] [--rounds 20]
 *
 * The runtime is a process of its own; its CPU time is shown beside that of the agent.
 * Each round reads anew: rounds are further apart than a reading is shared. Sizes of disks are measured by earlier rounds,
 * and again in the background every ten seconds, which is part of the figures.
 */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { silentLog } from '../../src/base/log.ts';
import { metricsText } from '../../src/base/metrics/metrics-text.ts';
import { resourceMetrics } from '../../src/kubelet/server/resource-metrics.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from '../integration/agent-fixture.ts';
import type { TestRuntimeName } from '../integration/runtime-fixture.ts';

const never = new AbortController().signal;

interface Cost {
  readonly cpuMs: number;
  readonly elapsedMs: number;
  readonly heldMs: number;
}

async function measure(work: () => Promise<unknown>): Promise<Cost> {
  const held = monitorEventLoopDelay({ resolution: 1 });
  held.enable();
  const [cpu, startedMs] = [process.cpuUsage(), performance.now()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  const elapsedMs = performance.now() - startedMs;
  await delay(20);
  held.disable();
  return { cpuMs: (user + system) / 1000, elapsedMs, heldMs: held.max / 1e6 };
}

/** The CPU time of another process in milliseconds, by the kernel's ticks of ten. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ').map(Number) ?? [];
  return ((fields[11] ?? 0) + (fields[12] ?? 0)) * 10;
}

async function rounds(name: string, count: number, pid: number, work: () => Promise<unknown>): Promise<void> {
  const costs: Cost[] = [];
  const before = cpuMsOf(pid);
  for (let round = 0; round < count; round++) {
    await delay(1100);
    costs.push(await measure(work));
  }
  const ofRuntime = (cpuMsOf(pid) - before) / count;
  const idle: Cost[] = [];
  for (let round = 0; round < 5; round++) idle.push(await measure(() => delay(50)));
  const median = (of: readonly Cost[], read: (cost: Cost) => number): string =>
    (of.map(read).toSorted((a, b) => a - b)[Math.floor(of.length / 2)] ?? 0).toFixed(1);
  const worst = Math.max(...costs.map(({ heldMs }) => heldMs)).toFixed(1);
  console.log(
    `${name}: ${median(costs, ({ cpuMs }) => cpuMs)} ms CPU (runtime ${ofRuntime.toFixed(1)} ms), ${median(costs, ({ elapsedMs }) => elapsedMs)} ms elapsed, ` +
      `loop held ${median(costs, ({ heldMs }) => heldMs)} ms (worst ${worst} ms; idle ${median(idle, ({ heldMs }) => heldMs)} ms, ` +
      `${median(idle, ({ cpuMs }) => cpuMs)} ms CPU in 50 ms)`,
  );
}

async function startPods({ source, next, report }: TestAgent, count: number): Promise<void> {
  const pods = Array.from({ length: count }, (_, index) =>
    podOf(`p${index}`, { containers: [shell('main', EXITS_ON_SIGTERM)] }),
  );
  const isRunning = (): boolean =>
    pods.every(({ metadata: { name } }) => {
      try {
        return report(name).observed?.containers.some(({ state }) => state === 'running') ?? false;
      } catch {
        return false;
      }
    });
  const all = next(() => isRunning(), 'all pods run');
  source.set(...pods);
  await all;
}

const { values } = parseArgs({
  options: {
    runtime: { type: 'string', default: 'embedded' },
    pods: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '20' },
  },
});
const names: readonly TestRuntimeName[] = ['embedded', 'containerd', 'containerd2'];
const runtime = names.find((name) => name === values.runtime);
if (!runtime) throw new Error(`unknown runtime ${values.runtime}`);
const [pods, count] = [Number(values.pods), Number(values.rounds)];
const world = await startTestAgent({ maxPods: pods + 10 }, runtime);
try {
  await startPods(world, pods);
  await delay(3000);
  const { stats } = world.agent;
  const pid = world.runtime.pid();
  console.log(`${runtime}, ${pods} pods, ${count} rounds`);
  await rounds('/stats/summary', count, pid, async () =>
    JSON.stringify(await stats.summary({ onlyCpuAndMemory: false }, never), undefined, 1),
  );
  await rounds('/stats/summary?only_cpu_and_memory=true', count, pid, async () =>
    JSON.stringify(await stats.summary({ onlyCpuAndMemory: true }, never), undefined, 1),
  );
  await rounds('/metrics/resource', count, pid, async () =>
    metricsText(await resourceMetrics(stats, silentLog, never)),
  );
  await rounds('/metrics/cadvisor', count, pid, () => stats.cadvisorPage(never));
  await rounds('pods() of eviction', count, pid, () => stats.pods(never));
} finally {
  await world.stop();
}
