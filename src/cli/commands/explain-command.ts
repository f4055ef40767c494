import { Option } from 'commander';
import { type ClientFlags, type ClientOptions, clientCommand } from '../options/client-options.ts';
import type { CliCommand } from './cli-command.ts';

/** Of `why` and `timeline`. */
export interface ExplainOptions extends ClientOptions {
  readonly pod: string;
  readonly output: 'text' | 'json';
}

interface ExplainFlags extends ClientFlags {
  readonly output?: 'json';
  readonly json?: true;
}

interface ExplainCommand extends Pick<CliCommand<ExplainOptions>, 'name' | 'execute'> {
  readonly description: string;
  readonly help: string;
}

/** A command about one pod: `why`, `timeline`. */
export function explainCommand({ name, description, help, execute }: ExplainCommand): CliCommand<ExplainOptions> {
  return {
    name,
    define(program, run) {
      clientCommand(program, name)
        .description(description)
        .argument('<pod>', 'NAME or NAMESPACE/NAME; the name in the manifest will do')
        .addOption(new Option('-o, --output <format>', 'for programs').choices(['json']))
        .option('--json', 'the same as -o json')
        .addHelpText('after', help)
        .action(async (pod: string, { state: stateDir, namespace, output, json }: ExplainFlags) => {
          await run({ stateDir, namespace, pod, output: json ? 'json' : (output ?? 'text') });
        });
    },
    execute,
  };
}
