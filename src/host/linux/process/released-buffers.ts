import { mapLargeBuffers } from '../sys/native-heap.ts';
import { garbageCollector } from './release-memory.ts';

/** V8 by itself lets buffers accumulate: their memory is outside its heap and does not trigger a minor collection. */
const MAX_RELEASED_BYTES = 4 * 1024 * 1024;
/** Buffers that survived two minor collections are freed only by a major one. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

let isConfigured = false;
let released = 0;

/** Notes that a buffer of this size is not used any more. Now and then collects the recent ones, within a millisecond. */
export function noteReleasedBuffer(bytes: number): void {
  if (!isConfigured) mapLargeBuffers();
  isConfigured = true;
  released += bytes;
  if (released < MAX_RELEASED_BYTES) return;
  released = 0;
  garbageCollector()({ type: 'minor', execution: 'sync' });
  if (process.memoryUsage().arrayBuffers > MAX_HELD_BYTES) garbageCollector()({ type: 'major', execution: 'sync' });
}
