import { CommandError } from '../options/command-error.ts';
import type { CommandContext } from './command-context.ts';

/**
 * Ctrl-C aborts the work and waits for its cleanup; a second Ctrl-C does not wait. Rejects with a `CommandError` with
 * `message` in both cases.
 */
export async function untilInterrupted<T>(
  { onInterrupt }: Pick<CommandContext, 'onInterrupt'>,
  message: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const asked = new AbortController();
  const second = Promise.withResolvers<never>();
  const unsubscribe = onInterrupt(() => {
    if (asked.signal.aborted) second.reject(asked.signal.reason);
    asked.abort(new CommandError(message));
  });
  try {
    return await Promise.race([work(asked.signal), second.promise]);
  } catch (error) {
    asked.signal.throwIfAborted();
    throw error;
  } finally {
    unsubscribe();
  }
}
