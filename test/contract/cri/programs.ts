import type { ContainerBehaviour, ExecAnswer } from '../../../src/cri/fake/behaviour.ts';

/** A program of a test container: a shell command for real runtimes, and its behaviour for the in-memory runtime. */
export interface Program {
  readonly command: readonly string[];
  readonly behaviour: ContainerBehaviour;
  /** Writes `ready` to its log once it handles signals: PID 1 has no default signal handlers. */
  readonly saysReady?: true;
}

export const EXEC_MIXED = ['sh', '-c', 'echo out; echo err >&2; exit 4'];
export const EXEC_SLOW = ['sleep', '1000'];
export const EXEC_MISSING = ['nonesuch'];

function exec(command: readonly string[]): ExecAnswer {
  if (command.join() === EXEC_MIXED.join()) {
    return { stdout: 'out\n', stderr: 'err\n', exitCode: 4 };
  }
  if (command.join() === EXEC_SLOW.join()) return { afterMs: 1_000_000 };
  if (command.join() === EXEC_MISSING.join()) return { error: 'exec: "nonesuch": executable file not found in $PATH' };
  return {};
}

function shell(script: string): readonly string[] {
  return ['sh', '-c', script];
}

function trapping(action: string): readonly string[] {
  return shell(`trap "${action}" TERM; echo ready; while true; do sleep 0.05; done`);
}

const READY = ['ready'];

export const PROGRAMS = {
  /** Exits with 143 on SIGTERM. */
  obedient: { command: trapping('exit 143'), behaviour: { output: READY, exec }, saysReady: true },
  stubborn: { command: trapping(''), behaviour: { output: READY, onTerminate: 'ignore' }, saysReady: true },
  'takes-its-time': {
    command: trapping('sleep 0.2; exit 7'),
    behaviour: { output: READY, onTerminate: { afterMs: 200, code: 7 } },
    saysReady: true,
  },
  succeeds: { command: shell('exit 0'), behaviour: { exits: { afterMs: 0, code: 0 } } },
  fails: { command: shell('exit 3'), behaviour: { exits: { afterMs: 0, code: 3 } } },
  talks: {
    command: shell('echo one; echo two'),
    behaviour: { output: ['one', 'two'], exits: { afterMs: 0, code: 0 } },
  },
  missing: {
    command: ['/nonesuch'],
    behaviour: { startError: 'exec: "/nonesuch": stat /nonesuch: no such file or directory' },
  },
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof PROGRAMS;
