import type { BehaviourOf, ContainerBehaviour, ExecAnswer } from '../../src/cri/fake/behaviour.ts';
import type { ContainerConfig } from '../../src/cri/generated/runtime-v1.ts';
import type { Clock } from '../../src/host/clock.ts';

/** What a simulated container does. It is written into the container's arguments, so that the runtime can read it. */
export interface Program {
  /** So many first attempts fail: at StartContainer, or a second after it. */
  readonly failsAtStart?: number;
  readonly crashesFirst?: number;
  /** Absent: it runs until it is told to end. */
  readonly exits?: { readonly afterMs: number; readonly code: number };
  /** As long as the world is younger it ends so soon, with the code for which all containers of its pod begin anew. */
  readonly restartsAll?: { readonly untilMs: number; readonly afterMs: number; readonly code: number };
  readonly onTerminate?: 'ignore' | { readonly afterMs: number; readonly code: number };
  /** From when on its probes succeed or fail, counted from its start; absent: always well. */
  readonly startupAfterMs?: number;
  readonly readyAfterMs?: number;
  readonly sickAfterMs?: number;
  /** How long each probe takes. */
  readonly checkMs?: number;
  readonly postStart?: HookProgram;
  readonly preStop?: HookProgram;
  /** What its probes talk to; absent: they run a command in it. */
  readonly server?: ServerProgram;
}

export interface HookProgram {
  readonly takesMs: number;
  /** It fails in so many first attempts of the container. */
  readonly failsFirst: number;
}

export interface ServerProgram {
  readonly port: number;
  readonly speaks: 'http' | 'tcp' | 'grpc';
  /** How it is when it is not well. */
  readonly whenSick: 'refuses' | 'hangs' | 'saysSo';
}

export type HookKind = 'postStart' | 'preStop';
export type CheckKind = 'startup' | 'readiness' | 'liveness';

/** A hook begins to run in a container. */
export type OnHook = (container: ContainerConfig, kind: HookKind, answer: ExecAnswer) => void;

const CRASH_MS = 1_000;

export function programArguments(program: Program): string[] {
  return [JSON.stringify(program)];
}

export function programOf(args: readonly string[] | undefined): Program {
  return JSON.parse(args?.[0] ?? '{}') as Program; // only programArguments() writes them
}

/** Reads the programs back, for the runtime. */
export function behaviours(clock: Clock, onHook: OnHook): BehaviourOf {
  return (container) => behaviourOf(container, clock, onHook);
}

function behaviourOf(container: ContainerConfig, clock: Clock, onHook: OnHook): ContainerBehaviour {
  const program = programOf(container.args);
  const attempt = container.metadata?.attempt ?? 0;
  const { failsAtStart = 0, crashesFirst = 0, exits, onTerminate } = program;
  if (attempt < failsAtStart) return { startError: 'cannot start the process' };
  const startedAt = clock.monotonic();
  const restartsAll = startedAt < (program.restartsAll?.untilMs ?? 0) ? program.restartsAll : undefined;
  const crash = attempt < failsAtStart + crashesFirst ? { afterMs: CRASH_MS, code: 1 } : undefined;
  const end = crash ?? restartsAll ?? exits;
  const runHook = (kind: HookKind): ExecAnswer => {
    const { takesMs = 0, failsFirst = 0 } = program[kind] ?? {};
    const answer = { afterMs: takesMs, exitCode: attempt < failsFirst ? 1 : 0 };
    onHook(container, kind, answer);
    return answer;
  };
  return {
    ...(end && { exits: { afterMs: end.afterMs, code: end.code } }),
    ...(onTerminate && { onTerminate }),
    exec: ([what, kind]) =>
      what === 'hook'
        ? runHook(kind as HookKind) // the pods of a plan have no others
        : {
            afterMs: program.checkMs ?? 0,
            exitCode: isWell(program, kind ?? '', clock.monotonic() - startedAt) ? 0 : 1,
          },
  };
}

/** Whether a check of a container finds it well, so long after its start. */
export function isWell(program: Program, kind: string, ageMs: number): boolean {
  const { startupAfterMs = 0, readyAfterMs = 0, sickAfterMs = Number.POSITIVE_INFINITY, server } = program;
  const isUp = ageMs >= startupAfterMs;
  const isHealthy = ageMs < sickAfterMs;
  // A connection says no more than that somebody listens.
  if (server?.speaks === 'tcp') return isUp && isHealthy;
  // Who does not answer at all is neither alive nor ready.
  const answers = server === undefined || server.whenSick === 'saysSo' || isHealthy;
  const well: Readonly<Record<CheckKind, boolean>> = {
    startup: isUp && answers,
    readiness: ageMs >= readyAfterMs && answers,
    liveness: isHealthy,
  };
  return well[kind as CheckKind] ?? true;
}
