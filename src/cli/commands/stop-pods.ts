import type { Agent } from '../../app/agent.ts';
import { aborted } from '../../base/aborted.ts';
import type { Clock } from '../../host/clock.ts';
import type { Ending } from './ending.ts';
import type { LocalAgent } from '../../app/start-local-agent.ts';

/** The grace period of a pod that does not say. */
const DEFAULT_GRACE_SECONDS = 30;

/** How long the runtime may take to take back what was half made when its pod ended, and how often it is looked at. */
const TAKE_BACK_MS = 5_000;
const LOOK_AGAIN_MS = 50;

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

/**
 * Resolves when the runtime has nothing of any pod, or does not come to that. A pod that ends while its sandbox is
 * being made is gone before the runtime has taken the sandbox back, or has made it nevertheless.
 */
export async function whenTakenBack(
  { agent, runtime }: LocalAgent,
  clock: Pick<Clock, 'deadline' | 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  const until = AbortSignal.any([clock.deadline(TAKE_BACK_MS), signal]);
  while (!until.aborted && !(await runtime.isEmpty())) {
    await clock.sleep(LOOK_AGAIN_MS, until).catch(() => undefined);
    await agent.drain();
  }
}

/** Of the pods that have not ended, in seconds. */
export function longestGrace(agent: Agent): number {
  const live = agent.pods().filter(({ worker }) => worker !== 'finished');
  const graces = live.map(({ pod }) => pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS);
  return Math.max(0, ...graces);
}
