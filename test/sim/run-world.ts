import type { Violation } from './check-context.ts';
import { checkNothingLeft, checkSettled, checkShownStatuses } from './invariants-at-rest.ts';
import { checkCertificate } from './invariants-of-certificates.ts';
import { checkEvents } from './invariants-of-events.ts';
import { checkHealth } from './invariants-of-health.ts';
import { checkFailedHooks } from './invariants-of-hooks.ts';
import { checkSharedPool } from './invariants-of-machine.ts';
import { checkNode, checkNodeAtRest } from './invariants-of-node.ts';
import { checkVolumeGroups, checkVolumesComplete, checkVolumesUpToDate } from './invariants-of-objects.ts';
import { checkMirrors, checkMirrorsSoon, checkStatusesWritten } from './invariants-of-statuses.ts';
import { checkTokens } from './invariants-of-tokens.ts';
import type { WorldPlan } from './plan-world.ts';
import { World } from './world.ts';

/** Time advances in these steps; a violation ends the world after a step. */
const STEP_MS = 5_000;

/** The time in which the agent notices changes without events. */
const RELIST_MS = 330_000;
/** How often the agent's statuses are checked after the last fault. */
const CHECK_MS = 20_000;
/** How often the invariants that always hold are sampled. */
const SAMPLE_MS = 60_000;

/** The time after which a new agent is idle. */
const FRESH_MS = 90_000;

export interface WorldResult {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly hash: string;
  readonly lines: readonly string[];
  readonly processCount: number;
}

/** Runs a world to its end, or to the first violation. */
export async function runWorld(plan: WorldPlan): Promise<WorldResult> {
  const world = new World(plan);
  const onRejection = (error: unknown): void => world.fail(12, `unhandled rejection: ${errorStack(error)}`);
  process.on('unhandledRejection', onRejection);
  try {
    await world.begin();
    const { clock } = world.host;
    const until = async (ms: number): Promise<void> => {
      while (clock.monotonic() < ms && !world.violation) {
        await clock.advance(Math.min(STEP_MS, ms - clock.monotonic()));
        if (clock.monotonic() % SAMPLE_MS === 0) await checkSample(world);
        if (!world.violation) await checkNode(world);
      }
    };
    await until(plan.times.calm + RELIST_MS);
    while (clock.monotonic() < plan.times.settled && !world.violation) {
      await until(Math.min(clock.monotonic() + CHECK_MS, plan.times.settled));
      if (!world.violation) checkShownStatuses(world);
      if (!world.violation) checkHealth(world);
      if (!world.violation) await checkVolumesUpToDate(world);
      await world.images.refresh();
    }
    if (!world.violation) checkSettled(world);
    if (!world.violation) await checkStatusesWritten(world);
    if (!world.violation) await checkMirrors(world);
    if (!world.violation) await checkNodeAtRest(world);
    world.removeAll();
    await until(plan.times.end);
    if (!world.violation) await checkNothingLeft(world);
    if (!world.violation) await checkTimers(world);
  } finally {
    world.end();
    process.off('unhandledRejection', onRejection);
  }
  const { trace, violation, processCount } = world;
  return { seed: plan.seed, violation, hash: trace.hash, lines: trace.lines, processCount };
}

/** The time in which a new agent has checked every log. */
const LOG_MS = 70_000;

/** Invariants that hold at every moment, also during faults. */
async function checkSample(world: World): Promise<void> {
  const { context } = world;
  const isQuiet = context.now() - Math.max(context.agentStartedAt(), context.quietAt) > LOG_MS;
  if (world.agentProcess) checkFailedHooks(context);
  if (world.agentProcess) checkSharedPool(context);
  await checkVolumesComplete(world);
  await checkVolumeGroups(world);
  await checkTokens(world);
  await checkMirrorsSoon(world);
  await checkEvents(world);
  await checkCertificate(world);
  for (const error of (await world.logs?.errors(isQuiet)) ?? []) world.fail(21, error);
  for (const error of (await world.logs?.linkErrors(context.quietAt)) ?? []) world.fail(33, error);
}

/** The old agent has as many pending timers as a new one: none leaked. */
async function checkTimers(world: World): Promise<void> {
  const old = await sleepers(world);
  world.agentProcess?.kill();
  world.startAgent();
  await world.host.clock.advance(FRESH_MS);
  const fresh = await sleepers(world);
  if (fresh !== old) world.fail(14, `the agent had ${old} timers, a new one has ${fresh}`);
}

/** The minimum of several samples: during calls the number is higher for a while. */
async function sleepers({ host, agentProcess }: World): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let sample = 0; sample < 10; sample++) {
    await host.clock.advance(700);
    least = Math.min(least, agentProcess?.gate.sleeping ?? 0);
  }
  return least;
}

function errorStack(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
