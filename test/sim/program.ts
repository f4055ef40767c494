import type { BehaviourOf, ContainerBehaviour, ExecAnswer } from '../../src/cri/fake/behaviour.ts';
import type { Clock } from '../../src/host/clock.ts';

/** What a simulated container does. It is written into the container's arguments, so that the runtime can read it. */
export interface Program {
  /** So many first attempts fail: at StartContainer, or a second after it. */
  readonly failsAtStart?: number;
  readonly crashesFirst?: number;
  /** Absent: it runs until it is told to end. */
  readonly exits?: { readonly afterMs: number; readonly code: number };
  readonly onTerminate?: 'ignore' | { readonly afterMs: number; readonly code: number };
  /** From when on its probes succeed or fail, counted from its start; absent: always well. */
  readonly startupAfterMs?: number;
  readonly readyAfterMs?: number;
  readonly sickAfterMs?: number;
  /** How long each probe takes. */
  readonly checkMs?: number;
}

const CRASH_MS = 1_000;

export function programArguments(program: Program): string[] {
  return [JSON.stringify(program)];
}

/** Reads the programs back, for the runtime. */
export function behaviours(clock: Clock): BehaviourOf {
  return ({ args, metadata }) => behaviourOf(JSON.parse(args[0] ?? '{}') as Program, metadata?.attempt ?? 0, clock);
}

function behaviourOf(program: Program, attempt: number, clock: Clock): ContainerBehaviour {
  const { failsAtStart = 0, crashesFirst = 0, exits, onTerminate } = program;
  if (attempt < failsAtStart) return { startError: 'cannot start the process' };
  const end = attempt < failsAtStart + crashesFirst ? { afterMs: CRASH_MS, code: 1 } : exits;
  const startedAt = clock.monotonic();
  return {
    ...(end && { exits: end }),
    ...(onTerminate && { onTerminate }),
    exec: ([, kind]) => checkAnswer(program, kind ?? '', clock.monotonic() - startedAt),
  };
}

function checkAnswer(program: Program, kind: string, ageMs: number): ExecAnswer {
  const { startupAfterMs = 0, readyAfterMs = 0, sickAfterMs = Number.POSITIVE_INFINITY, checkMs = 0 } = program;
  const isWell = { startup: ageMs >= startupAfterMs, readiness: ageMs >= readyAfterMs, liveness: ageMs < sickAfterMs };
  return { afterMs: checkMs, exitCode: isWell[kind as keyof typeof isWell] === false ? 1 : 0 };
}
