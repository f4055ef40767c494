import type { ContainerConfig, PodSandboxConfig } from '../generated/runtime-v1.ts';

/** Behaviour of a container's program. Empty: it runs until SIGTERM, and then exits at once with 143. */
export interface ContainerBehaviour {
  /** StartContainer fails with this text; the container exits with 128 and `StartError`. */
  readonly startError?: string;
  /** It exits by itself, `afterMs` after its start. */
  readonly exits?: { readonly afterMs: number; readonly code: number; readonly reason?: 'OOMKilled' };
  /** Reaction to SIGTERM. */
  readonly onTerminate?: 'ignore' | { readonly afterMs: number; readonly code: number };
  /** Lines that it writes to standard output when it starts. */
  readonly output?: readonly string[];
  /** Absent: every command succeeds at once without output. */
  readonly exec?: (command: readonly string[]) => ExecAnswer;
  /** Memory usage in the statistics; 1 MiB if absent. */
  readonly memoryBytes?: number;
}

export interface ExecAnswer {
  readonly afterMs?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exitCode?: number;
  /** The command cannot be started; the runtime's error text. */
  readonly error?: string;
}

/** Called when a container starts; `undefined` falls back to `FakeRuntime.behaviours`. */
export type BehaviourOf = (container: ContainerConfig, pod: PodSandboxConfig) => ContainerBehaviour | undefined;
