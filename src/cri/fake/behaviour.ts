import type { ContainerConfig, PodSandboxConfig } from '../generated/runtime-v1.ts';

/** What the program in a container does. Empty: it runs until it is told to end, and ends at once then, with 143. */
export interface ContainerBehaviour {
  /** StartContainer fails with this text; the container has ended then, with 128 and `StartError`. */
  readonly startError?: string;
  /** It ends by itself, this long after its start. */
  readonly exits?: { readonly afterMs: number; readonly code: number; readonly reason?: 'OOMKilled' };
  /** What SIGTERM does. */
  readonly onTerminate?: 'ignore' | { readonly afterMs: number; readonly code: number };
  /** Lines on standard output, written when it starts. */
  readonly output?: readonly string[];
  /** Absent: every command ends well at once and says nothing. */
  readonly exec?: (command: readonly string[]) => ExecAnswer;
  /** What the statistics show; 1 MiB if absent. */
  readonly memoryBytes?: number;
}

export interface ExecAnswer {
  readonly afterMs?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exitCode?: number;
  /** The command cannot be run at all; the runtime's text. */
  readonly error?: string;
}

/** Asked when a container starts; `undefined` leaves it to `FakeRuntime.behaviours`. */
export type BehaviourOf = (container: ContainerConfig, pod: PodSandboxConfig) => ContainerBehaviour | undefined;
