import type { Clock } from '../../host/clock.ts';
import type { WebSocketConnection } from '../../host/network.ts';

const LAST_WORDS_MS = 10_000;

/**
 * Resolves when a client has gone and what it said last has had its time to get through: the reader may be stuck for ever
 * in writing it on. Or when the session is over.
 */
export async function lastWordsOver(
  { closed }: Pick<WebSocketConnection, 'closed'>,
  clock: Pick<Clock, 'sleep'>,
  sessionOver: AbortSignal,
): Promise<void> {
  await closed;
  await clock.sleep(LAST_WORDS_MS, sessionOver).catch(() => {});
}
