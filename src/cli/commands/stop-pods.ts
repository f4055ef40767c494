import type { Agent } from '../../app/agent.ts';
import type { LocalAgent } from '../../app/start-local-agent.ts';
import { aborted } from '../../base/aborted.ts';
import type { Clock } from '../../host/clock.ts';
import type { Shutdown } from './shutdown.ts';

/** The default of `terminationGracePeriodSeconds`. */
const DEFAULT_GRACE_SECONDS = 30;

/** The time limit for the runtime to undo a sandbox that was being created when its pod ended, and the interval of the check. */
const UNDO_MS = 5_000;
const CHECK_INTERVAL_MS = 50;

/** Stops every pod within its grace period, or sooner when the shutdown becomes urgent. */
export async function stopPods(agent: Agent, ending: Shutdown, print: (line: string) => void): Promise<void> {
  const left = (): string[] =>
    agent.pods().flatMap(({ pod, worker }) => (worker === 'finished' ? [] : [pod.metadata.uid]));
  const count = left().length;
  if (count > 0) {
    const grace = ending.graceSeconds ?? longestGrace(agent);
    const pods = count === 1 ? '1 pod' : `${count} pods`;
    print(`stopping ${pods} (grace ${grace} s; Ctrl-C again to kill at once)`);
  }
  const drained = agent.drain();
  const hurry = (graceSeconds: number): Promise<unknown> =>
    Promise.allSettled(left().map((uid) => agent.stopPod(uid, graceSeconds)));
  if (ending.graceSeconds !== undefined) void hurry(ending.graceSeconds);
  void aborted(ending.urgent).then(() => hurry(0));
  await drained;
}

/**
 * Resolves when the runtime has no sandboxes and containers left, or after a time limit. A pod that ends while its sandbox
 * is being created is gone before the runtime has undone or completed the sandbox.
 */
export async function waitForEmptyRuntime(
  { agent, runtime }: LocalAgent,
  clock: Pick<Clock, 'deadline' | 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  const until = AbortSignal.any([clock.deadline(UNDO_MS), signal]);
  while (!until.aborted && !(await runtime.isEmpty())) {
    await clock.sleep(CHECK_INTERVAL_MS, until).catch(() => undefined);
    await agent.drain();
  }
}

/** The longest grace period of the pods that have not finished, in seconds. */
export function longestGrace(agent: Agent): number {
  const live = agent.pods().filter(({ worker }) => worker !== 'finished');
  const graces = live.map(({ pod }) => pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS);
  return Math.max(0, ...graces);
}
