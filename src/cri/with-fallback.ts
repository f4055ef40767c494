import { hasCode } from './cri-error.ts';
import type { RuntimeEvent, RuntimeEvents } from './runtime-events.ts';

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
