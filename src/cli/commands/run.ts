import { Option } from 'commander';
import { duration, folder, ipv4Cidr, wholeNumber } from '../options/option-values.ts';
import { registryConfigDirs } from '../options/runtime-options.ts';
import type { CliCommand } from './cli-command.ts';

const RUN_HELP = `
Progress goes to stderr, the logs of the containers to stdout.

Examples:
  nodelet run pod.yaml
  nodelet run --once manifests/
`;

export interface RunOptions {
  readonly paths: readonly string[];
  readonly once: boolean;
  /** Waits for manifests instead of ending without pods. */
  readonly allowEmpty: boolean;
  readonly rootDir: string;
  readonly stateDir: string;
  readonly podCidr: string;
  readonly registryConfigDirs: readonly string[];
  readonly verbosity: number;
  /** How long `--once` waits for its pods. */
  readonly timeoutMs: number;
}

interface RunFlags {
  readonly once?: boolean;
  readonly allowEmpty?: boolean;
  readonly timeout: number;
  readonly root: string;
  readonly state: string;
  readonly podCidr: string;
  readonly registryConfigDir: readonly string[];
  readonly v: number;
}

export const run: CliCommand<RunOptions> = {
  name: 'run',
  define(program, run) {
    program
      .command('run')
      .description('Run the pods of manifests on this machine, without a cluster, until Ctrl-C.')
      .argument(
        '<file...>',
        'manifests in YAML or JSON, or folders of them: pods and the objects they use; watched for changes',
      )
      .option('--once', 'exit when every pod is ready or done, and print its logs')
      .option('--allow-empty', 'go on without any pod, for a service whose manifests come later')
      .addOption(new Option('--timeout <duration>', 'how long --once waits').argParser(duration).default(300_000, '5m'))
      .option('--root <dir>', 'persistent data: images, volumes, logs', folder, '/var/lib/nodelet')
      .option('--state <dir>', 'data that a reboot clears: sockets, running containers', folder, '/run/nodelet')
      .addOption(new Option('--pod-cidr <cidr>', 'addresses of pods').argParser(ipv4Cidr).default('10.87.0.0/16'))
      .addOption(registryConfigDirs())
      .addOption(new Option('--v <level>', 'log more: 2 what happens, 4 details').argParser(wholeNumber).default(0))
      .addHelpText('after', RUN_HELP)
      .action(async (paths: string[], flags: RunFlags) => {
        const { once = false, root: rootDir, state: stateDir, podCidr, v: verbosity, timeout: timeoutMs } = flags;
        const folders = { rootDir, stateDir, podCidr, registryConfigDirs: flags.registryConfigDir };
        await run({ paths, once, allowEmpty: flags.allowEmpty ?? false, ...folders, verbosity, timeoutMs });
      });
  },
  async execute(options, context) {
    const { runCommand } = await import('./run-command.ts');
    const { createLocalAgentFactory } = await import('../../app/local-agent-factory.ts');
    return runCommand(options, context, createLocalAgentFactory);
  },
};
