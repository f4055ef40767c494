import type { HeapProfiler, Session, Profiler as V8Profiler } from 'node:inspector/promises';
import type { Clock } from '../../clock.ts';
import { type Profiler, ProfilerBusyError, type SampledStacks } from '../../profiler.ts';
import { type CallFrame, StackCollector } from './sampled-stacks.ts';

/** 100 samples a second, as in Go. */
const CPU_INTERVAL_US = 10_000;
/** As in Go: one sample for each half MiB. */
const HEAP_INTERVAL_BYTES = 512 * 1024;
/** Pseudo-functions of V8: the thread waits. */
const IDLE = '(idle)';
const ROOT = '(root)';

/** Profiles of this process by V8, through an inspector session of its own; nothing runs between two profiles. */
export function createLinuxProfiler(clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>): Profiler {
  const running = new Set<string>();
  const exclusively = async <T>(kind: string, work: (session: Session) => Promise<T>): Promise<T> => {
    if (running.has(kind)) throw new ProfilerBusyError(`${kind} profiling already in use`);
    running.add(kind);
    try {
      const { Session } = await import('node:inspector/promises');
      const session = new Session();
      session.connect();
      try {
        return await work(session);
      } finally {
        session.disconnect(); // ends what is left of the profile
      }
    } finally {
      running.delete(kind);
    }
  };
  /** An abort only ends it earlier. */
  const sleep = (ms: number, signal: AbortSignal) => clock.sleep(ms, signal).catch(() => undefined);
  return {
    cpu: (durationMs, signal) =>
      exclusively('cpu', async (session) => {
        const [startedMs, since] = [clock.now(), clock.monotonic()];
        await session.post('Profiler.enable');
        await session.post('Profiler.setSamplingInterval', { interval: CPU_INTERVAL_US });
        await session.post('Profiler.start');
        await sleep(durationMs, signal);
        const { profile } = await session.post('Profiler.stop');
        return { ...cpuStacks(profile), startedMs, durationMs: clock.monotonic() - since };
      }),
    heap: (kind, durationMs, signal) =>
      exclusively('heap', async (session) => {
        const [startedMs, since] = [clock.now(), clock.monotonic()];
        const isAll = kind === 'all';
        const collected = { includeObjectsCollectedByMajorGC: isAll, includeObjectsCollectedByMinorGC: isAll };
        await session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_INTERVAL_BYTES, ...collected });
        await sleep(durationMs, signal);
        const { profile } = await session.post('HeapProfiler.stopSampling');
        return { ...heapStacks(profile), startedMs, durationMs: clock.monotonic() - since };
      }),
  };
}

type Stacks = Pick<SampledStacks, 'frames' | 'stacks' | 'period'>;

function cpuStacks({ nodes, samples = [], timeDeltas = [] }: V8Profiler.Profile): Stacks {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const micros = new Map<number, number>();
  const counts = new Map<number, number>();
  for (const [index, id] of samples.entries()) {
    // The time until the next sample belongs to this one.
    micros.set(id, (micros.get(id) ?? 0) + Math.max(0, timeDeltas[index + 1] ?? CPU_INTERVAL_US));
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const collector = new StackCollector();
  for (const [id, count] of counts) {
    if (byId.get(id)?.callFrame.functionName === IDLE) continue;
    const frames: number[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame: CallFrame | undefined = byId.get(at)?.callFrame;
      if (frame && frame.functionName !== ROOT) frames.push(collector.frame(frame));
    }
    collector.add(frames, count, 1000 * (micros.get(id) ?? 0));
  }
  return { frames: collector.frames, stacks: collector.stacks, period: 1000 * CPU_INTERVAL_US };
}

function heapStacks({ head }: HeapProfiler.SamplingHeapProfile): Stacks {
  const collector = new StackCollector();
  const todo = [{ node: head, above: [] as readonly number[] }];
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { node, above } = next;
    const frames = node.callFrame.functionName === ROOT ? above : [collector.frame(node.callFrame), ...above];
    collector.add(frames, Math.ceil(node.selfSize / HEAP_INTERVAL_BYTES), node.selfSize);
    for (const child of node.children) todo.push({ node: child, above: frames });
  }
  return { frames: collector.frames, stacks: collector.stacks, period: HEAP_INTERVAL_BYTES };
}
