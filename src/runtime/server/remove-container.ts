import type { RuntimeService } from '../../cri/services.ts';
import { failureOf } from '../container/container-failure.ts';
import { type TakeAwayDeps, takeAway } from '../container/take-away.ts';

/** One that runs is killed first; one that nobody knows is removed. */
export function removeContainer(deps: TakeAwayDeps): RuntimeService['removeContainer'] {
  return async ({ containerId }, signal) => {
    const record = deps.ledger.find(containerId);
    if (!record) return {};
    try {
      await takeAway(record.id, deps, signal);
    } catch (error) {
      throw failureOf('cannot remove container', error, signal);
    }
    return {};
  };
}
