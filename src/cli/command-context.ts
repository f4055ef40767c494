import type { Host } from '../host/host.ts';
import type { MachineFacts } from '../host/machine-facts.ts';
import type { Terminal } from './terminal.ts';

export type Interrupt = 'SIGINT' | 'SIGTERM';

/** What a command works with; handed in, so that a test can stand in for the machine and the user. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly host: Host;
  readonly version: string;
  readonly pid: number;
  readonly machine: MachineFacts;
  /** As `process.platform` names it. */
  readonly platform: string;
  readonly isRoot: boolean;
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** From the first subscription on, interrupts do not end the process by themselves. */
  onInterrupt(listener: (interrupt: Interrupt) => void): () => void;
}

/** Documented in `nodelet --help`. */
export const EXIT = { ok: 0, failed: 1, badInput: 2, bug: 70 } as const;

/** Ends a command with a message for the user, without a trace. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
