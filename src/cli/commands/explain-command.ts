import { type Command, Option } from 'commander';
import { type ClientFlags, type ClientOptions, clientCommand } from './client-options.ts';

/** Of `why` and `timeline`. */
export interface ExplainOptions extends ClientOptions {
  readonly pod: string;
  readonly output: 'text' | 'json';
}

export interface ExplainFlags extends ClientFlags {
  readonly output?: 'json';
}

/** A command about one pod: `why`, `timeline`. */
export function explainCommand(program: Command, name: string, description: string): Command {
  return clientCommand(program, name)
    .description(description)
    .argument('<pod>', 'NAME or NAMESPACE/NAME; the name in the manifest will do')
    .addOption(new Option('-o, --output <format>', 'for programs').choices(['json']));
}
