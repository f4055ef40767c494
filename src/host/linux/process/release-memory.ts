import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: {
  readonly type: 'major' | 'minor';
  readonly execution: 'sync';
  readonly flavor?: 'last-resort';
}) => void;

let known: Collect | undefined;

/** V8's own, which it hands out when asked at its start. */
export function garbageCollector(): Collect {
  if (known === undefined) {
    setFlagsFromString('--expose-gc');
    known = runInNewContext('gc') as Collect; // what the flag puts into every new context
  }
  return known;
}

/**
 * Has V8 collect what nobody needs and give the pages back: by itself it would keep them until twice as much has piled
 * up. It takes some 50 ms, in which nothing else is done: for a moment at which nothing is to do.
 */
export async function releaseMemory(): Promise<void> {
  garbageCollector()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  // In a bundle this unpacks the foreign function interface, which many commands never use.
  const { trimHeap } = await import('../sys/native-heap.ts');
  trimHeap();
}
