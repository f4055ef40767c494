import { Option } from 'commander';
import { type ClientFlags, type ClientOptions, clientCommand } from '../options/client-options.ts';
import { wholeNumber } from '../options/option-values.ts';
import type { CliCommand } from './cli-command.ts';

export interface StopOptions extends ClientOptions {
  /** Empty: every pod, and the agent with them. */
  readonly pods: readonly string[];
  readonly graceSeconds: number | undefined;
}

interface StopFlags extends ClientFlags {
  readonly all?: boolean;
  readonly gracePeriod?: number;
}

export const stop: CliCommand<StopOptions> = {
  name: 'stop',
  define(program, run) {
    const command = clientCommand(program, 'stop')
      .description('Stop pods and wait until they are gone. They start again when their manifest changes.')
      .argument('[pod...]', 'NAME or NAMESPACE/NAME; the name in the manifest will do')
      .option('--all', "every pod, and the 'nodelet run' that runs them; 'nodelet kubelet' with shutdownGracePeriod")
      .addOption(new Option('--grace-period <seconds>', 'upper limit of the grace period').argParser(wholeNumber))
      .addHelpText('after', '\nExamples:\n  nodelet stop hello\n  nodelet stop --all --grace-period 1\n');
    command.action(async (pods: string[], { state: stateDir, namespace, all = false, gracePeriod }: StopFlags) => {
      if (all === pods.length > 0) command.error('error: name the pods to stop, or give --all');
      await run({ stateDir, namespace, pods, graceSeconds: gracePeriod });
    });
  },
  execute: async (options, context) => (await import('./stop-command.ts')).stopCommand(options, context),
};
