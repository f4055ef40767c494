import { checkNothingLeft, checkSettled, checkShown } from './invariants-at-rest.ts';
import { checkCertificate } from './invariants-of-certificates.ts';
import { checkEvents } from './invariants-of-events.ts';
import { checkHealth } from './invariants-of-health.ts';
import { checkFailedHooks } from './invariants-of-hooks.ts';
import { checkNode, checkNodeAtRest } from './invariants-of-node.ts';
import { checkUpToDate, checkWhole } from './invariants-of-objects.ts';
import { checkMirrors, checkMirrorsSoon, checkWritten } from './invariants-of-statuses.ts';
import { checkTokens } from './invariants-of-tokens.ts';
import type { WorldPlan } from './plan-world.ts';
import type { Violation } from './scene.ts';
import { World } from './world.ts';

/** How far time moves at once; a violation ends the world after such a step. */
const STEP_MS = 5_000;

/** After which the agent has noticed whatever it was not told. */
const RELIST_MS = 330_000;
/** How often the agent's statuses are compared with what is so, once nothing goes wrong any more. */
const LOOK_MS = 20_000;
/** How often is looked whether anything is half done. */
const SAMPLE_MS = 60_000;

/** After which a new agent has nothing to do. */
const FRESH_MS = 90_000;

export interface WorldResult {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly hash: string;
  readonly lines: readonly string[];
  readonly lives: number;
}

/** Runs a world to its end, or to the first violation. */
export async function runWorld(plan: WorldPlan): Promise<WorldResult> {
  const world = new World(plan);
  const onRejection = (error: unknown): void => world.fail(12, `nobody took care of a rejection: ${textOf(error)}`);
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
      await until(Math.min(clock.monotonic() + LOOK_MS, plan.times.settled));
      if (!world.violation) checkShown(world);
      if (!world.violation) checkHealth(world);
      if (!world.violation) await checkUpToDate(world);
      await world.images.look();
    }
    if (!world.violation) checkSettled(world);
    if (!world.violation) await checkWritten(world);
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
  const { trace, violation, lives } = world;
  return { seed: plan.seed, violation, hash: trace.hash, lines: trace.lines, lives };
}

/** After which a new agent has looked at every log. */
const LOG_MS = 70_000;

/** What must be so at every moment, also in the middle of misfortunes. */
async function checkSample(world: World): Promise<void> {
  const { scene } = world;
  const isQuiet = scene.now() - Math.max(scene.bornAt(), scene.quietAt) > LOG_MS;
  if (world.life) checkFailedHooks(scene);
  await checkWhole(world);
  await checkTokens(world);
  await checkMirrorsSoon(world);
  await checkEvents(world);
  await checkCertificate(world);
  for (const fault of (await world.logs?.faults(isQuiet)) ?? []) world.fail(21, fault);
}

/** An agent that has been through all of this sleeps as often as one that was started just now. */
async function checkTimers(world: World): Promise<void> {
  const old = await sleepers(world);
  world.life?.kill();
  world.startAgent();
  await world.host.clock.advance(FRESH_MS);
  const fresh = await sleepers(world);
  if (fresh !== old) world.fail(14, `the agent had ${old} timers, a new one has ${fresh}`);
}

/** How often it sleeps at least: in the middle of several calls that is more for a while. */
async function sleepers({ host, life }: World): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 10; look++) {
    await host.clock.advance(700);
    least = Math.min(least, life?.gate.sleeping ?? 0);
  }
  return least;
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
