import { eventLoopTurn } from '../process/event-loop-turn.ts';

/** A longer call waited for a disk (or for a CPU, which does no harm). */
const SLOW_MS = 20;
const PAUSE_MS = 2_000;
/** After consecutive calls of this length the event loop gets a turn. */
const TURN_MS = 5;

type SyncWhileFast = <T>(sync: () => T, inPool: () => Promise<T>) => Promise<T>;

/**
 * Makes file calls on this thread while they take microseconds: through Node's pool a small file takes three times as long.
 * After a slow call all calls go through the pool for a while, so that a slow disk does not block the event loop.
 */
export const syncWhileFast = createSyncWhileFast(() => performance.now());

export function createSyncWhileFast(now: () => number): SyncWhileFast {
  let slowUntil = Number.NEGATIVE_INFINITY;
  let turnBegan: number | undefined;

  const beginTurn = (): number => {
    const began = now();
    if (turnBegan !== undefined) return began;
    turnBegan = began;
    setImmediate(() => {
      turnBegan = undefined;
    });
    return began;
  };

  return async (sync, inPool) => {
    if (now() < slowUntil) return inPool();
    if (turnBegan !== undefined && now() - turnBegan > TURN_MS) await eventLoopTurn();
    const began = beginTurn();
    try {
      return sync();
    } finally {
      const ended = now();
      if (ended - began > SLOW_MS) slowUntil = ended + PAUSE_MS;
    }
  };
}
