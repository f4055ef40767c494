import type { WorldPlan } from './plan-world.ts';
import { runWorld, type WorldResult } from './run-world.ts';

/** Indexes into the lists of the whole plan. */
export interface Selection {
  readonly actions: readonly number[];
  readonly faults: readonly number[];
}

export interface Shrunk {
  readonly selection: Selection;
  readonly result: WorldResult;
}

/** The plan with a selection of its actions and faults. */
export function selectFromPlan(plan: WorldPlan, selection: Selection): WorldPlan {
  return {
    ...plan,
    actions: plan.actions.filter((_, index) => selection.actions.includes(index)),
    faults: plan.faults.filter((_, index) => selection.faults.includes(index)),
  };
}

export function selectAll({ actions, faults }: WorldPlan): Selection {
  return { actions: [...actions.keys()], faults: [...faults.keys()] };
}

/**
 * Removes actions and faults that the violation does not need: large pieces first, then ever smaller ones, until nothing
 * more can be removed or the time is up.
 */
export async function shrink(plan: WorldPlan, first: WorldResult, limitMs: number): Promise<Shrunk> {
  const until = Date.now() + limitMs;
  let best: Shrunk = { selection: withoutLater(plan, first), result: first };
  for (const list of ['faults', 'actions', 'faults'] as const) {
    for (let size = best.selection[list].length; size >= 1; size = Math.floor(size / 2)) {
      for (let start = 0; start < best.selection[list].length && Date.now() < until; ) {
        const selection = { ...best.selection, [list]: best.selection[list].toSpliced(start, size) };
        const result = await runWorld(selectFromPlan(plan, selection));
        if (result.violation?.invariant === first.violation?.invariant) best = { selection, result };
        else start += size;
      }
    }
  }
  return { ...best, result: await runWorld(selectFromPlan(plan, best.selection)) };
}

/** Drops everything after the violation. */
function withoutLater(plan: WorldPlan, { violation }: WorldResult): Selection {
  const isEarlier = ({ at }: { readonly at: number }): boolean => at <= (violation?.at ?? 0);
  return {
    actions: plan.actions.flatMap((action, index) => (isEarlier(action) ? [index] : [])),
    faults: plan.faults.flatMap((fault, index) => (isEarlier(fault) ? [index] : [])),
  };
}
