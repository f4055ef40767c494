import { eventLoopTurn } from '../process/event-loop-turn.ts';

/** A call that takes longer made this thread wait for a disk; or another process had the core, which does no harm. */
const SLOW_MS = 20;
const PAUSE_MS = 2_000;
/** Calls in a row that take longer give way to whatever else is to be done. */
const TURN_MS = 5;

type AtPace = <T>(atOnce: () => T, inPool: () => Promise<T>) => Promise<T>;

/**
 * Does on this thread what takes microseconds: the way through Node's pool takes three times as long as a small file does.
 * While a disk makes us wait, all goes through the pool, so that others are served meanwhile.
 */
export const atDiskPace = createDiskPace(() => performance.now());

export function createDiskPace(now: () => number): AtPace {
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

  return async (atOnce, inPool) => {
    if (now() < slowUntil) return inPool();
    if (turnBegan !== undefined && now() - turnBegan > TURN_MS) await eventLoopTurn();
    const began = beginTurn();
    try {
      return atOnce();
    } finally {
      const ended = now();
      if (ended - began > SLOW_MS) slowUntil = ended + PAUSE_MS;
    }
  };
}
