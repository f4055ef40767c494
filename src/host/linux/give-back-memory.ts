import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: {
  readonly type: 'major';
  readonly execution: 'sync';
  readonly flavor: 'last-resort';
}) => void;

let collect: Collect | undefined;

/**
 * Has V8 collect what nobody needs and give the pages back: by itself it would keep them until twice as much has piled
 * up. It takes some 50 ms, in which nothing else is done: for a moment at which nothing is to do.
 */
export function giveBackMemory(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect; // what the flag puts into every new context
  }
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
