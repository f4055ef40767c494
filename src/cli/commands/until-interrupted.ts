import { CommandError } from '../options/command-error.ts';
import type { CommandContext } from './command-context.ts';

/**
 * Ctrl-C ends the work, which tidies up; who insists does not wait for that. `told` says what became of it. Rejects with a
 * `CommandError` for both.
 */
export async function untilInterrupted<T>(
  { onInterrupt }: Pick<CommandContext, 'onInterrupt'>,
  told: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const asked = new AbortController();
  const insisted = Promise.withResolvers<never>();
  const unsubscribe = onInterrupt(() => {
    if (asked.signal.aborted) insisted.reject(asked.signal.reason);
    asked.abort(new CommandError(told));
  });
  try {
    return await Promise.race([work(asked.signal), insisted.promise]);
  } catch (error) {
    asked.signal.throwIfAborted();
    throw error;
  } finally {
    unsubscribe();
  }
}
