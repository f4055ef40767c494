import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';

/**
 * One command of the command line: its arguments and flags, and what it does. A new command is a file with one of these and
 * a line in `src/cli/command-registry.ts`.
 */
export interface CliCommand<Options> {
  readonly name: string;
  /** Adds the command to the program; calls `run` with the parsed options. */
  define(program: Command, run: (options: Options) => Promise<void>): void;
  /** Returns the exit code. Loads its implementation when it is called: `nodelet ps` needs no gRPC. */
  execute(options: Options, context: CommandContext): Promise<number>;
}

/** A command whose options only it knows, as the registry holds it. */
export interface RegisteredCommand {
  readonly name: string;
  /** Adds the command to the program; `executed` receives the exit code. */
  register(program: Command, context: CommandContext, executed: (exitCode: number) => void): void;
}

export function registerCommand<Options>(command: CliCommand<Options>): RegisteredCommand {
  return {
    name: command.name,
    register: (program, context, executed) =>
      command.define(program, async (options) => executed(await command.execute(options, context))),
  };
}
