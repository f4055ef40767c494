import { mapLargeBuffers } from '../sys/native-heap.ts';
import { garbageCollector } from './release-memory.ts';

/** V8 by itself lets buffers pile up, for it does not count them with what it has to look through. */
const MAX_RELEASED_BYTES = 4 * 1024 * 1024;
/** Those that were in use during two collections are seen only by one of everything. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

let isPrepared = false;
let passed = 0;

/** So many bytes came in a buffer that nobody needs any more. What has come lately is collected, within a millisecond. */
export function noteReleasedBuffer(bytes: number): void {
  if (!isPrepared) mapLargeBuffers();
  isPrepared = true;
  passed += bytes;
  if (passed < MAX_RELEASED_BYTES) return;
  passed = 0;
  garbageCollector()({ type: 'minor', execution: 'sync' });
  if (process.memoryUsage().arrayBuffers > MAX_HELD_BYTES) garbageCollector()({ type: 'major', execution: 'sync' });
}
