import { invalidField } from '../../cri/field-error.ts';
import type { SpecMachine } from './spec-request.ts';

type OomLimits = Pick<SpecMachine, 'ownOomScoreAdj' | 'mayLowerOomScore'>;

export function containerOomScore(requested: bigint, machine: OomLimits): number {
  const score = Number(requested);
  if (score < -1000 || score > 1000)
    throw invalidField('linux.resources.oom_score_adj', `${score} is not in -1000..1000`);
  return reachableOomScore(score, machine);
}

/** Without CAP_SYS_RESOURCE no process can get a score below that of this process. */
export function reachableOomScore(score: number, { ownOomScoreAdj, mayLowerOomScore }: OomLimits): number {
  return mayLowerOomScore ? score : Math.max(score, ownOomScoreAdj);
}
