import { constants, PerformanceObserver, performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers';
import { getHeapSpaceStatistics } from 'node:v8';
import type { CollectionPause, JavaScriptEngine } from '../../javascript-engine.ts';

/** The shortest timer of Node.js. */
const TIMER_MS = 1;

const KINDS: ReadonlyMap<unknown, CollectionPause['kind']> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakCallbacks'],
]);

export const linuxJavaScriptEngine: JavaScriptEngine = {
  heapSpaces: () =>
    getHeapSpaceStatistics().map(({ space_name, space_used_size, space_size }) => ({
      name: space_name,
      usedBytes: space_used_size,
      sizeBytes: space_size,
    })),
  eventLoopTimes() {
    const { active, idle } = performance.eventLoopUtilization();
    return { activeMs: active, idleMs: idle };
  },
  timerLagMs: () =>
    new Promise((resolve) => {
      const beganMs = performance.now();
      setTimeout(() => resolve(Math.max(0, performance.now() - beganMs - TIMER_MS)), TIMER_MS);
    }),
  observePauses(listener) {
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        listener({ kind: KINDS.get(kindOf(entry)) ?? 'other', tookMs: entry.duration });
      }
    });
    observer.observe({ entryTypes: ['gc'] });
    return () => observer.disconnect();
  },
};

/** The entries of collections have a detail, which the types of Node.js leave out. */
function kindOf(entry: object): unknown {
  const detail: unknown = 'detail' in entry ? entry.detail : undefined;
  return typeof detail === 'object' && detail !== null && 'kind' in detail ? detail.kind : undefined;
}
