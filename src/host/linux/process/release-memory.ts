import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type CollectGarbage = (options: {
  readonly type: 'major' | 'minor';
  readonly execution: 'sync';
  readonly flavor?: 'last-resort';
}) => void;

let known: CollectGarbage | undefined;

/** V8's `gc` function, which `--expose-gc` makes available. */
export function garbageCollector(): CollectGarbage {
  if (known === undefined) {
    setFlagsFromString('--expose-gc');
    known = runInNewContext('gc') as CollectGarbage; // the flag defines it in every new context
  }
  return known;
}

/**
 * Collects garbage and returns free pages to the kernel: V8 by itself waits until twice as much has accumulated. Blocks for
 * some 50 ms, so call it when the agent is idle.
 */
export async function releaseMemory(): Promise<void> {
  garbageCollector()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  // In a bundle this unpacks the foreign function interface, which many commands never use.
  const { trimHeap } = await import('../sys/native-heap.ts');
  trimHeap();
}
