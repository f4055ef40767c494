import { mapLargeBuffers } from '../sys/native-heap.ts';
import { collector } from './give-back-memory.ts';

/** V8 by itself lets buffers pile up, for it does not count them with what it has to look through. */
const MOST_PASSED = 4 * 1024 * 1024;
/** Those that were in use during two collections are seen only by one of everything. */
const MOST_HELD = 16 * 1024 * 1024;

let isPrepared = false;
let passed = 0;

/** So many bytes came in a buffer that nobody needs any more. What has come lately is collected, within a millisecond. */
export function hasPassed(bytes: number): void {
  if (!isPrepared) mapLargeBuffers();
  isPrepared = true;
  passed += bytes;
  if (passed < MOST_PASSED) return;
  passed = 0;
  collector()({ type: 'minor', execution: 'sync' });
  if (process.memoryUsage().arrayBuffers > MOST_HELD) collector()({ type: 'major', execution: 'sync' });
}
