import type { CliCommand } from './cli-command.ts';

const KUBELET_HELP = `
Takes kubelet's flags (--config, --root-dir, --hostname-override, …) and its configuration files.
Called by the name kubelet, through a link, nodelet is this command: kubeadm finds it so.

Example:
  nodelet kubelet --config /var/lib/kubelet/config.yaml
`;

/** Its options are kubelet's own flags, as they were given. */
export const kubelet: CliCommand<readonly string[]> = {
  name: 'kubelet',
  define(program, run) {
    program
      .command('kubelet')
      .description('Run the node agent of this machine, as a replacement for kubelet.')
      .usage('[kubelet flags]')
      .argument('[flags...]')
      .helpOption(false)
      .allowUnknownOption()
      .passThroughOptions()
      .addHelpText('after', KUBELET_HELP)
      .action((flags: string[]) => run(flags));
  },
  execute: async (flags, context) => (await import('./kubelet-command.ts')).kubeletCommand(flags, context),
};
