import type { WorldPlan } from './plan-world.ts';
import { runWorld, type WorldResult } from './run-world.ts';

/** Places in the lists of the whole plan. */
export interface Kept {
  readonly actions: readonly number[];
  readonly faults: readonly number[];
}

export interface Shrunk {
  readonly kept: Kept;
  readonly result: WorldResult;
}

/** The plan with only some of what happens in it. */
export function planOf(plan: WorldPlan, kept: Kept): WorldPlan {
  return {
    ...plan,
    actions: plan.actions.filter((_, index) => kept.actions.includes(index)),
    faults: plan.faults.filter((_, index) => kept.faults.includes(index)),
  };
}

export function allOf({ actions, faults }: WorldPlan): Kept {
  return { actions: [...actions.keys()], faults: [...faults.keys()] };
}

/**
 * Leaves out whatever is not needed for the same invariant to be violated: first half of it at once, then ever smaller
 * pieces, until nothing can be spared or the time is up.
 */
export async function shrink(plan: WorldPlan, first: WorldResult, limitMs: number): Promise<Shrunk> {
  const until = Date.now() + limitMs;
  let best: Shrunk = { kept: withoutLater(plan, first), result: first };
  for (const list of ['faults', 'actions', 'faults'] as const) {
    for (let size = best.kept[list].length; size >= 1; size = Math.floor(size / 2)) {
      for (let start = 0; start < best.kept[list].length && Date.now() < until; ) {
        const kept = { ...best.kept, [list]: best.kept[list].toSpliced(start, size) };
        const result = await runWorld(planOf(plan, kept));
        if (result.violation?.invariant === first.violation?.invariant) best = { kept, result };
        else start += size;
      }
    }
  }
  return { ...best, result: await runWorld(planOf(plan, best.kept)) };
}

/** What comes after the violation has no part in it. */
function withoutLater(plan: WorldPlan, { violation }: WorldResult): Kept {
  const isEarlier = ({ at }: { readonly at: number }): boolean => at <= (violation?.at ?? 0);
  return {
    actions: plan.actions.flatMap((action, index) => (isEarlier(action) ? [index] : [])),
    faults: plan.faults.flatMap((fault, index) => (isEarlier(fault) ? [index] : [])),
  };
}
