import { hasCode } from './cri-error.ts';
import type { RuntimeEvent, RuntimeEvents } from './runtime-events.ts';

/**
 * The first of several sources of events that is really served. A server may answer other calls before it says that it does
 * not know this one, so whoever seemed to be subscribed may still turn out not to be: then the next one takes over, which
 * is told as another `subscribed`.
 */
export function withFallback(sources: readonly RuntimeEvents[]): RuntimeEvents {
  let left = sources;
  return {
    async *watch(signal): AsyncGenerator<RuntimeEvent, void, void> {
      for (;;) {
        const [source, ...others] = left;
        if (source === undefined) return;
        try {
          yield* source.watch(signal);
          return;
        } catch (error) {
          if (!hasCode(error, 'Unimplemented') || others.length === 0) throw error;
          left = others;
        }
      }
    },
  };
}
