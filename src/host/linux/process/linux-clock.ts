import type { Clock } from '../../clock.ts';

/** Node.js fires longer timers at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. */
export const linuxClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep,
  deadline,
};

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const timer = startTimer(ms, () => {
      // A signal may live as long as the process: listeners of finished sleeps must not accumulate.
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    const onAbort = (): void => {
      timer.cancel();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

function deadline(ms: number): AbortSignal {
  const controller = new AbortController();
  const passed = (): void => controller.abort(new DOMException(`deadline of ${ms} ms passed`, 'TimeoutError'));
  startTimer(ms, passed, (timer) => timer.unref());
  return controller.signal;
}

interface RunningTimer {
  cancel(): void;
}

/** A timer of any length, as a chain of Node's timers; `prepare` is called with each. */
function startTimer(ms: number, fire: () => void, prepare: (timer: NodeJS.Timeout) => void = () => {}): RunningTimer {
  let timer: NodeJS.Timeout;
  const wait = (left: number): void => {
    const part = Math.min(left, LONGEST_TIMER_MS);
    timer = setTimeout(() => (left > part ? wait(left - part) : fire()), part);
    prepare(timer);
  };
  wait(ms);
  return { cancel: () => clearTimeout(timer) };
}
