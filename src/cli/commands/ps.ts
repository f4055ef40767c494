import { Option } from 'commander';
import { type ClientFlags, type ClientOptions, clientCommand } from '../options/client-options.ts';
import type { CliCommand } from './cli-command.ts';

export interface PsOptions extends ClientOptions {
  readonly output: 'table' | 'wide' | 'json' | 'yaml';
}

interface PsFlags extends ClientFlags {
  readonly output?: 'wide' | 'json' | 'yaml';
}

export const ps: CliCommand<PsOptions> = {
  name: 'ps',
  define(program, run) {
    clientCommand(program, 'ps')
      .description('List the pods of the running agent.')
      .addOption(
        new Option('-o, --output <format>', 'more columns, or whole objects').choices(['wide', 'json', 'yaml']),
      )
      .action(async ({ state: stateDir, namespace, output }: PsFlags) => {
        await run({ stateDir, namespace, output: output ?? 'table' });
      });
  },
  execute: async (options, context) => (await import('./ps-command.ts')).psCommand(options, context),
};
