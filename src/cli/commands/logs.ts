import { Option } from 'commander';
import type { LogsQuery } from '../../kubelet/local-api/local-api-types.ts';
import { type ClientFlags, type ClientOptions, clientCommand } from '../options/client-options.ts';
import { ALL_LINES, duration, tailLines } from '../options/option-values.ts';
import type { CliCommand } from './cli-command.ts';

export interface LogsOptions
  extends ClientOptions,
    Pick<LogsQuery, 'container' | 'follow' | 'previous' | 'timestamps' | 'tailLines'> {
  readonly pod: string;
  /** How far back, from now. */
  readonly sinceMs: number | undefined;
}

interface LogsFlags extends ClientFlags {
  readonly container?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly tail?: number;
  readonly since?: number;
}

export const logs: CliCommand<LogsOptions> = {
  name: 'logs',
  define(program, run) {
    clientCommand(program, 'logs')
      .description('Print the log of a container.')
      .argument('<pod>', 'NAME or NAMESPACE/NAME; the name in the manifest will do')
      .option('-c, --container <name>', 'which container of the pod')
      .option('-f, --follow', 'follow the log until the container exits')
      .addOption(new Option('--tail <lines>', 'only the last lines').argParser(tailLines))
      .addOption(new Option('--since <duration>', 'only lines newer than this, such as 5m').argParser(duration))
      .option('--timestamps', 'prefix each line with its timestamp')
      .option('-p, --previous', 'the previous instance of the container')
      .addHelpText('after', '\nExample:\n  nodelet logs -f --tail 20 hello -c web\n')
      .action(async (pod: string, flags: LogsFlags) => {
        const { state: stateDir, namespace, container, follow = false, previous = false, timestamps = false } = flags;
        const target = { stateDir, namespace, pod, container };
        const lines = flags.tail === ALL_LINES ? undefined : flags.tail;
        await run({ ...target, follow, previous, timestamps, tailLines: lines, sinceMs: flags.since });
      });
  },
  execute: async (options, context) => (await import('./logs-command.ts')).logsCommand(options, context),
};
