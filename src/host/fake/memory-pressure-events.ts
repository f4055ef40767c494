import { FileSystemError } from '../file-system.ts';
import type { PressureEvents, StallLimits } from '../pressure-events.ts';

interface UsageWatch {
  readonly bytes: number;
  readonly onCrossed: () => void;
}

/** Reports that a test makes. */
export class MemoryPressureEvents implements PressureEvents {
  readonly #version: 'v1' | 'v2';
  readonly #usage = new Map<string, number>();
  readonly #watches = new Map<string, Set<UsageWatch>>();
  readonly #stalls = new Set<() => void>();

  constructor(version: 'v1' | 'v2' = 'v2') {
    this.#version = version;
  }

  /** Sets the memory of a cgroup, which exists from then on, and reports the limits that it crosses. */
  setUsage(cgroup: string, bytes: number): void {
    const before = this.#usage.get(cgroup) ?? 0;
    this.#usage.set(cgroup, bytes);
    for (const watch of [...(this.#watches.get(cgroup) ?? [])]) {
      if (before > watch.bytes !== bytes > watch.bytes) watch.onCrossed();
    }
  }

  /** Tasks waited for memory. */
  stall(): void {
    for (const onStall of [...this.#stalls]) onStall();
  }

  /** The limits that are watched, ascending. */
  watched(cgroup: string): readonly number[] {
    return [...(this.#watches.get(cgroup) ?? [])].map(({ bytes }) => bytes).sort((a, b) => a - b);
  }

  async watchUsage(cgroup: string, bytes: number, onCrossed: () => void, signal: AbortSignal): Promise<boolean> {
    if (this.#version === 'v2') return false;
    if (!this.#usage.has(cgroup) && cgroup !== '/') throw new FileSystemError('ENOENT', 'watch', cgroup);
    const watches = this.#watches.get(cgroup) ?? new Set();
    this.#watches.set(cgroup, watches);
    addUntil(watches, { bytes, onCrossed }, signal);
    return true;
  }

  async watchStalls(_limits: StallLimits, onStall: () => void, signal: AbortSignal): Promise<boolean> {
    addUntil(this.#stalls, onStall, signal);
    return true;
  }
}

function addUntil<T>(set: Set<T>, item: T, signal: AbortSignal): void {
  if (signal.aborted) return;
  set.add(item);
  signal.addEventListener('abort', () => set.delete(item), { once: true });
}
