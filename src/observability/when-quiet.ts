import { tracingChannel } from 'node:diagnostics_channel';
import { RPC_CHANNEL } from '../cri/instrument.ts';
import type { Clock } from '../host/clock.ts';

/** The calls that make or take something; others only look, and go on for ever. */
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
 * Calls `tidy` once each time that pods have come or gone and none has for a while, until the signal aborts. A clock that
 * is never set while nothing happens.
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
      later.abort(SOMETHING_HAPPENED);
      later = new AbortController();
      clock.sleep(QUIET_MS, AbortSignal.any([later.signal, signal])).then(tidy, () => {});
    },
  };
  channel.subscribe(subscribers);
  signal.addEventListener('abort', () => channel.unsubscribe(subscribers), { once: true });
}

/** Made once: it is nobody's failure. */
const SOMETHING_HAPPENED = new Error('something happened meanwhile');
