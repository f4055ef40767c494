import { tracingChannel } from 'node:diagnostics_channel';
import { RPC_CHANNEL, type RpcTrace } from '../../src/cri/instrument.ts';

/** One call to the runtime, on the clock of `performance.now()`. */
export interface CriCall {
  readonly method: string;
  readonly request: unknown;
  /** Absent when it failed. */
  readonly result: unknown;
  readonly startMs: number;
  readonly endMs: number;
}

/** A stretch of time. */
export interface Interval {
  readonly startMs: number;
  readonly endMs: number;
}

const channel = tracingChannel<object>(RPC_CHANNEL);

/** Records every CRI call of this process when it ends, in that order. */
export class CriCalls {
  readonly all: CriCall[] = [];
  readonly #started = new Map<unknown, number>();
  readonly #begin = (trace: unknown): void => void this.#started.set(trace, performance.now());
  readonly #end = (trace: unknown): void => this.#ended(trace as RpcTrace); // the message type of this channel

  constructor() {
    channel.start.subscribe(this.#begin);
    channel.asyncStart.subscribe(this.#end);
  }

  /** The calls that began in that time. */
  within({ startMs, endMs }: Interval): CriCall[] {
    return this.all.filter((call) => call.startMs >= startMs && call.startMs <= endMs);
  }

  stop(): void {
    channel.start.unsubscribe(this.#begin);
    channel.asyncStart.unsubscribe(this.#end);
  }

  #ended(trace: RpcTrace): void {
    const startMs = this.#started.get(trace);
    if (startMs === undefined) return;
    this.#started.delete(trace);
    const { method, request, result } = trace;
    this.all.push({ method, request, result, startMs, endMs: performance.now() });
  }
}

/** The time during which at least one of them was in progress: parallel calls count once. */
export function busyMs(intervals: readonly Interval[]): number {
  let busy = 0;
  let coveredTo = Number.NEGATIVE_INFINITY;
  for (const { startMs, endMs } of intervals.toSorted((a, b) => a.startMs - b.startMs)) {
    if (endMs <= coveredTo) continue;
    busy += endMs - Math.max(startMs, coveredTo);
    coveredTo = endMs;
  }
  return busy;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
