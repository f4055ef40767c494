import { type Command, Option } from 'commander';
import { folder } from '../options/option-values.ts';
import type { VolumeFormat, VolumeOptions } from '../options/volume-options.ts';
import type { CliCommand } from './cli-command.ts';

const VOLUME_HELP = `
A PersistentVolumeClaim in the manifests of 'nodelet run' gets a folder below --root, or a PersistentVolume of the
manifests that suits it. The data stays until 'nodelet volume rm': after the pod, after the agent, and after the claim
has left the manifests. Works with or without a running agent.

Examples:
  nodelet volume ls
  nodelet volume inspect data
  nodelet volume rm default/data
`;

const RM_HELP = `
Removes the folder with all data at once, without a question. A volume that a pod uses is not removed: stop the pod first.
The files of a PersistentVolume of the manifests stay; its claim is released.
`;

interface VolumeFlags {
  readonly root: string;
  readonly namespace?: string;
}

interface OutputFlags extends VolumeFlags {
  readonly output?: 'json' | 'yaml';
}

export const volume: CliCommand<VolumeOptions> = {
  name: 'volume',
  define(program, run) {
    const group = program
      .command('volume')
      .description("Manage the volumes of claims in manifests of 'nodelet run': list, inspect, remove.")
      .addHelpText('after', VOLUME_HELP);
    const verb = (name: string): Command =>
      group.command(name).option('--root <dir>', 'the root folder of the agent', folder, '/var/lib/nodelet');
    const shared = ({ root: rootDir, namespace }: VolumeFlags) => ({ rootDir, namespace });
    withOutput(verb('ls').alias('list'))
      .description('List the volumes. USED is measured, REQUESTED is not enforced.')
      .option('-n, --namespace <namespace>', 'only of this namespace')
      .action((flags: OutputFlags) => run({ ...shared(flags), verb: 'ls', output: formatOf(flags) }));
    withOutput(verb('inspect'))
      .description('Show a volume.')
      .argument('<volume>', 'the name of its claim: NAME or NAMESPACE/NAME')
      .option('-n, --namespace <namespace>', 'the namespace of NAME', 'default')
      .action((name: string, flags: OutputFlags) =>
        run({ ...shared(flags), verb: 'inspect', volume: name, output: formatOf(flags) }),
      );
    verb('rm')
      .description('Remove volumes with their data.')
      .argument('<volume...>', 'the names of their claims: NAME or NAMESPACE/NAME')
      .option('-n, --namespace <namespace>', 'the namespace of NAME', 'default')
      .addHelpText('after', RM_HELP)
      .action((volumes: string[], flags: VolumeFlags) => run({ ...shared(flags), verb: 'rm', volumes }));
  },
  execute: async (options, context) => (await import('./volume-command.ts')).volumeCommand(options, context),
};

function withOutput(command: Command): Command {
  return command.addOption(new Option('-o, --output <format>', 'for other programs').choices(['json', 'yaml']));
}

function formatOf({ output }: OutputFlags): VolumeFormat {
  return output ?? 'text';
}
