import type { Host } from '../../host/host.ts';
import type { MachineFacts } from '../../host/machine-facts.ts';
import type { Terminal } from '../output/terminal.ts';
import type { ProcessErrors } from './process-errors.ts';

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
  /** The errors of the process that no code has handled. */
  readonly processErrors: ProcessErrors;
}
