import { EXIT } from '../options/command-error.ts';
import type { CliCommand } from './cli-command.ts';

export const version: CliCommand<undefined> = {
  name: 'version',
  define(program, run) {
    program
      .command('version')
      .description('Print the version.')
      .action(() => run(undefined));
  },
  async execute(_options, { terminal, version }) {
    await terminal.stdout.write(`nodelet ${version}\n`);
    return EXIT.ok;
  },
};
