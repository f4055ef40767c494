import { type ClientFlags, type ClientOptions, clientCommand } from '../options/client-options.ts';
import type { CliCommand } from './cli-command.ts';

export interface ExecOptions extends ClientOptions {
  readonly pod: string;
  readonly container: string | undefined;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly command: readonly string[];
}

interface ExecFlags extends ClientFlags {
  readonly container?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

export const exec: CliCommand<ExecOptions> = {
  name: 'exec',
  define(program, run) {
    clientCommand(program, 'exec')
      .description('Run a command in a container, and exit with its code.')
      .argument('<pod>', 'NAME or NAMESPACE/NAME; the name in the manifest will do')
      .argument('<command...>', 'the command and its arguments, after --')
      .option('-c, --container <name>', 'which container of the pod')
      .option('-i, --stdin', 'pass stdin to the command')
      .option('-t, --tty', 'give the command a terminal')
      .addHelpText(
        'after',
        '\nExamples:\n  nodelet exec hello -- ls -l /\n  nodelet exec -it hello -c web -- sh\n  echo hi | nodelet exec -i hello -- cat\n',
      )
      .action(async (pod: string, command: string[], flags: ExecFlags) => {
        const { state: stateDir, namespace, container, stdin = false, tty = false } = flags;
        await run({ stateDir, namespace, pod, container, stdin, tty, command });
      });
  },
  execute: async (options, context) => (await import('./exec-command.ts')).execCommand(options, context),
};
