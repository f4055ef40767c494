import { ExpectedError } from '../base/expected-error.ts';

/** Profiles of this process, by sampling. */
export interface Profiler {
  /**
   * Samples what the main thread runs, until the time is over or the signal aborts; an abort is not an error. Rejects with a
   * `ProfilerBusyError` while another profile of this kind is being taken.
   */
  cpu(durationMs: number, signal: AbortSignal): Promise<SampledStacks>;
  /** Samples allocations in the same way: of objects that are still in use in the end (`live`), or of all. */
  heap(kind: 'live' | 'all', durationMs: number, signal: AbortSignal): Promise<SampledStacks>;
}

export interface SampledStacks {
  readonly frames: readonly StackFrame[];
  readonly stacks: readonly SampledStack[];
  readonly startedMs: number;
  readonly durationMs: number;
  /** Nanoseconds between two samples of the CPU, bytes between two of the heap; on average. */
  readonly period: number;
}

export interface StackFrame {
  readonly functionName: string;
  readonly file: string;
  /** Of the function; 0: unknown. */
  readonly line: number;
}

export interface SampledStack {
  /** Indexes of `frames`, the innermost call first. */
  readonly frames: readonly number[];
  readonly samples: number;
  /** Nanoseconds or bytes. */
  readonly amount: number;
}

export class ProfilerBusyError extends ExpectedError {
  override readonly name = 'ProfilerBusyError';
}
