import type { UnhandledErrors } from '../base/unhandled-errors.ts';
import type { Host } from '../host/host.ts';
import type { MachineFacts } from '../host/machine-facts.ts';

/** The process that an agent runs in. */
export interface AgentProcess {
  readonly host: Host;
  readonly machine: MachineFacts;
  readonly version: string;
  readonly pid: number;
  /** The unhandled errors of the process and of its parts. */
  readonly unhandled: UnhandledErrors;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Sets the verbosity of the log; absent: it stays as it is. */
  readonly setVerbosity?: ((verbosity: number) => void) | undefined;
}
