import { Option } from 'commander';
import { agentCommand, type ClientFlags, type ClientOptions } from '../options/client-options.ts';
import type { CliCommand } from './cli-command.ts';

export interface TopOptions extends Pick<ClientOptions, 'stateDir'> {
  readonly output: 'table' | 'json';
}

interface TopFlags extends Pick<ClientFlags, 'state'> {
  readonly output?: 'json';
  readonly json?: true;
}

const HELP = `
Shows how long each step of starting pods took on this node in the last hour: how often it was done, the time that half,
nine of ten and 99 of a hundred took at most, and the longest.

Example:
  nodelet top --starts
`;

export const top: CliCommand<TopOptions> = {
  name: 'top',
  define(program, run) {
    agentCommand(program, 'top')
      .description('Show what the starts of pods take on this node.')
      .requiredOption('--starts', 'the steps of starting pods')
      .addOption(new Option('-o, --output <format>', 'for programs').choices(['json']))
      .option('--json', 'the same as -o json')
      .addHelpText('after', HELP)
      .action(async ({ state: stateDir, output, json }: TopFlags) => {
        await run({ stateDir, output: json ? 'json' : (output ?? 'table') });
      });
  },
  execute: async (options, context) => (await import('./top-command.ts')).topCommand(options, context),
};
