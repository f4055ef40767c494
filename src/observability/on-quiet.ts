import { tracingChannel } from 'node:diagnostics_channel';
import { RPC_CHANNEL } from '../cri/instrument.ts';
import type { Clock } from '../host/clock.ts';

/** Calls that create or remove something; the others only read, and never stop. */
const MUTATING_CALLS: ReadonlySet<string> = new Set([
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'RemoveContainer',
  'PullImage',
]);

const QUIET_MS = 1_500;

/**
 * Calls `tidy` each time that no pod was created or removed for a while after one was, until the signal aborts. Without
 * changes no timer runs.
 */
export function onQuiet(
  { clock, tidy }: { readonly clock: Clock; readonly tidy: () => void },
  signal: AbortSignal,
): void {
  const channel = tracingChannel<object>(RPC_CHANNEL);
  let later = new AbortController();
  const subscribers = {
    asyncEnd: (trace: object) => {
      if (!('method' in trace && typeof trace.method === 'string' && MUTATING_CALLS.has(trace.method))) return;
      later.abort(CHANGED);
      later = new AbortController();
      clock.sleep(QUIET_MS, AbortSignal.any([later.signal, signal])).then(tidy, () => {});
    },
  };
  channel.subscribe(subscribers);
  signal.addEventListener('abort', () => channel.unsubscribe(subscribers), { once: true });
}

/** Created once, as it is no error: it restarts the wait. */
const CHANGED = new Error('there was another change');
