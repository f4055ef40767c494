import type { Faults } from '../base/faults.ts';
import type { Host } from '../host/host.ts';
import type { MachineFacts } from '../host/machine-facts.ts';

/** The process that an agent runs in. */
export interface AgentProcess {
  readonly host: Host;
  readonly machine: MachineFacts;
  readonly version: string;
  readonly pid: number;
  /** The faults of the process and of its parts. */
  readonly faults: Faults;
  readonly env: Readonly<Record<string, string | undefined>>;
}
