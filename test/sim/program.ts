import type { BehaviourOf, ContainerBehaviour, ExecAnswer } from '../../src/cri/fake/behaviour.ts';
import type { ContainerConfig } from '../../src/cri/generated/runtime-v1.ts';
import type { Clock } from '../../src/host/clock.ts';

/** The behaviour of a simulated container. The runtime reads it from the container's arguments. */
export interface Program {
  /** The number of first attempts that fail: at StartContainer, or a second after it. */
  readonly failsAtStart?: number;
  readonly crashesFirst?: number;
  /** Absent: it runs until it is terminated. */
  readonly exits?: { readonly afterMs: number; readonly code: number };
  /** Until `untilMs` of the world it exits after `afterMs`, with the code that restarts all containers of its pod. */
  readonly restartsAll?: { readonly untilMs: number; readonly afterMs: number; readonly code: number };
  readonly onTerminate?: 'ignore' | { readonly afterMs: number; readonly code: number };
  /** The times after its start at which probes begin to succeed or to fail; absent: always healthy. */
  readonly startupAfterMs?: number;
  readonly readyAfterMs?: number;
  readonly unhealthyAfterMs?: number;
  /** How long each probe takes. */
  readonly checkMs?: number;
  readonly postStart?: HookProgram;
  readonly preStop?: HookProgram;
  /** The server that its probes connect to; absent: they run a command in the container. */
  readonly server?: ServerProgram;
}

export interface HookProgram {
  readonly takesMs: number;
  /** The number of first attempts of the container in which the hook fails. */
  readonly failsFirst: number;
}

export interface ServerProgram {
  readonly port: number;
  readonly speaks: 'http' | 'tcp' | 'grpc';
  /** How it behaves when it is unhealthy. */
  readonly whenUnhealthy: 'refuses' | 'hangs' | 'reportsUnhealthy';
}

export type HookKind = 'postStart' | 'preStop';
export type CheckKind = 'startup' | 'readiness' | 'liveness';

/** Runs when a hook begins in a container. */
export type OnHook = (container: ContainerConfig, kind: HookKind, answer: ExecAnswer) => void;

const CRASH_MS = 1_000;

export function programArguments(program: Program): string[] {
  return [JSON.stringify(program)];
}

export function programOf(args: readonly string[] | undefined): Program {
  return JSON.parse(args?.[0] ?? '{}') as Program; // only programArguments() writes them
}

/** The behaviour of each container, for the runtime. */
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
        ? runHook(kind as HookKind) // pods of a plan have no other commands
        : {
            afterMs: program.checkMs ?? 0,
            exitCode: passesProbe(program, kind ?? '', clock.monotonic() - startedAt) ? 0 : 1,
          },
  };
}

/** Whether a probe succeeds at this age of the container. */
export function passesProbe(program: Program, kind: string, ageMs: number): boolean {
  const { startupAfterMs = 0, readyAfterMs = 0, unhealthyAfterMs = Number.POSITIVE_INFINITY, server } = program;
  const isUp = ageMs >= startupAfterMs;
  const isHealthy = ageMs < unhealthyAfterMs;
  // A TCP probe only shows that the port is open.
  if (server?.speaks === 'tcp') return isUp && isHealthy;
  // A server that does not answer fails every probe.
  const answers = server === undefined || server.whenUnhealthy === 'reportsUnhealthy' || isHealthy;
  const well: Readonly<Record<CheckKind, boolean>> = {
    startup: isUp && answers,
    readiness: ageMs >= readyAfterMs && answers,
    liveness: isHealthy,
  };
  return well[kind as CheckKind] ?? true;
}
