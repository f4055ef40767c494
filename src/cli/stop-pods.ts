import type { Agent } from '../app/agent.ts';
import { aborted, type Ending } from './ending.ts';

/** The grace period of a pod that does not say. */
const DEFAULT_GRACE_SECONDS = 30;

/** Ends every pod within its grace period, or sooner as the ending becomes more urgent. */
export async function stopPods(agent: Agent, ending: Ending, tell: (line: string) => void): Promise<void> {
  const left = (): string[] =>
    agent.pods().flatMap(({ pod, worker }) => (worker === 'finished' ? [] : [pod.metadata.uid]));
  const count = left().length;
  if (count > 0) {
    const grace = ending.graceSeconds ?? longestGrace(agent);
    const pods = count === 1 ? '1 pod' : `${count} pods`;
    tell(`stopping ${pods} (grace ${grace} s; Ctrl-C again to kill at once)`);
  }
  const drained = agent.drain();
  const hurry = (graceSeconds: number): Promise<unknown> =>
    Promise.allSettled(left().map((uid) => agent.stopPod(uid, graceSeconds)));
  if (ending.graceSeconds !== undefined) void hurry(ending.graceSeconds);
  void aborted(ending.insisted).then(() => hurry(0));
  await drained;
}

function longestGrace(agent: Agent): number {
  const graces = agent.pods().map(({ pod }) => pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS);
  return Math.max(0, ...graces);
}
