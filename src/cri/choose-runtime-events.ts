import { type ContainerdEventsOptions, containerdEvents } from './containerd-events.ts';
import { hasCode } from './cri-error.ts';
import { criEvents } from './cri-events.ts';
import type { RuntimeEvent, RuntimeEvents } from './runtime-events.ts';

export interface ChooseOptions extends Omit<ContainerdEventsOptions, 'endpoint'> {
  /** Absent for a runtime in this process. */
  readonly endpoint: string | undefined;
}

/**
 * Picks the event source that the runtime serves: CRI's, else containerd's, else none (`undefined`), and relisting must
 * find changes. Rejects if the runtime cannot be reached.
 */
export async function chooseRuntimeEvents(
  options: ChooseOptions,
  signal: AbortSignal,
): Promise<RuntimeEvents | undefined> {
  const { endpoint } = options;
  const candidates = [
    criEvents(options.runtime),
    ...(endpoint === undefined ? [] : [containerdEvents({ ...options, endpoint })]),
  ];
  for (const [at, candidate] of candidates.entries()) {
    if (await isServed(candidate, signal)) return withFallback(candidates.slice(at));
  }
  return undefined;
}

async function isServed(events: RuntimeEvents, signal: AbortSignal): Promise<boolean> {
  try {
    for await (const event of events.watch(signal)) {
      if (event.kind === 'subscribed') return true;
    }
    return false;
  } catch (error) {
    if (hasCode(error, 'Unimplemented')) return false;
    throw error;
  }
}

/**
 * Uses the first event source that the runtime serves. A server may answer other calls before it reports this one as
 * unimplemented, so a source that yielded `subscribed` may still fail. Then the next source takes over, and yields
 * `subscribed` again.
 */
export function withFallback(sources: readonly RuntimeEvents[]): RuntimeEvents {
  let remaining = sources;
  return {
    async *watch(signal): AsyncGenerator<RuntimeEvent, void, void> {
      for (;;) {
        const [source, ...others] = remaining;
        if (source === undefined) return;
        try {
          yield* source.watch(signal);
          return;
        } catch (error) {
          if (!hasCode(error, 'Unimplemented') || others.length === 0) throw error;
          remaining = others;
        }
      }
    },
  };
}
