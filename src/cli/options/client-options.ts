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

/** A command that talks to a running agent about its pods. */
export function clientCommand(program: Command, name: string): Command {
  return agentCommand(program, name).option('-n, --namespace <namespace>', 'look only in this namespace');
}

/** A command that talks to a running agent about its node. */
export function agentCommand(program: Command, name: string): Command {
  return program.command(name).option('--state <dir>', 'the state folder of the agent', folder, '/run/nodelet');
}
