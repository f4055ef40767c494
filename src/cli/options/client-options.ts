import type { Command } from 'commander';
import { folder } from './option-values.ts';

/** Of every command that talks to a running agent. */
export interface ClientOptions {
  readonly stateDir: string;
  readonly namespace: string | undefined;
}

export interface ClientFlags {
  readonly state: string;
  readonly namespace?: string;
}

/** A command that talks to a running agent. */
export function clientCommand(program: Command, name: string): Command {
  return program
    .command(name)
    .option('-n, --namespace <namespace>', 'look only in this namespace')
    .option('--state <dir>', 'the state folder of the agent', folder, '/run/nodelet');
}
