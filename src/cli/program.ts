import { Command, Option } from 'commander';
import { addExec, addLogs, addPs, addStop } from './options/client-options.ts';
import type { Commands } from './options/commands.ts';
import { addTimeline, addWhy } from './options/explain-options.ts';
import { addImage } from './options/image-options.ts';
import { duration, folder, ipv4Cidr, wholeNumber } from './options/option-values.ts';
import { addCri, registryConfigDirs } from './options/runtime-options.ts';

const OVERVIEW = `
Examples:
  nodelet run pod.yaml            run the pods of a manifest until Ctrl-C
  nodelet ps                      list them, from another terminal
  nodelet logs -f hello -c web    follow the log of a container
  nodelet why hello               why a pod is not ready
  nodelet exec -it hello -- sh    a shell in a container
  nodelet stop hello              end a pod
  nodelet image pull busybox      bring an image here

Exit codes:
  0   done
  1   something failed: a pod, the runtime, or no agent is running
  2   wrong usage, or input that cannot be used
  70  a bug in nodelet
  'exec' ends with the exit code of its command; 127 it was not found, 126 it cannot be executed.
`;

const RUN_HELP = `
Progress goes to stderr, the logs of the containers to stdout.

Examples:
  nodelet run pod.yaml
  nodelet run --once manifests/
`;

const KUBELET_HELP = `
Takes kubelet's flags (--config, --root-dir, --hostname-override, …) and its configuration files.

Example:
  nodelet kubelet --config /var/lib/kubelet/config.yaml
`;

export interface ProgramOutput {
  out(text: string): void;
  err(text: string): void;
}

/** Is told the exit code of the command that ran. */
export type Ended = (exitCode: number) => void;

/** The command line. Wrong usage throws a `CommanderError` once it has been told to the user. */
export function buildProgram(commands: Commands, output: ProgramOutput, ended: Ended): Command {
  const program = new Command('nodelet')
    .description('Kubernetes pods on this machine: a node agent, with or without a cluster.')
    .enablePositionalOptions() // what stands behind 'kubelet' is not ours to read
    .configureOutput({ writeOut: output.out, writeErr: output.err })
    .exitOverride()
    .addHelpText('after', OVERVIEW);
  addRun(program, commands, ended);
  addPs(program, commands, ended);
  addLogs(program, commands, ended);
  addWhy(program, commands, ended);
  addTimeline(program, commands, ended);
  addExec(program, commands, ended);
  addStop(program, commands, ended);
  addImage(program, commands, ended);
  addCri(program, commands, ended);
  addNodeCommands(program, commands, ended);
  return program;
}

interface RunFlags {
  readonly once?: boolean;
  readonly timeout: number;
  readonly root: string;
  readonly state: string;
  readonly podCidr: string;
  readonly registryConfigDir: readonly string[];
  readonly v: number;
}

function addRun(program: Command, { run }: Commands, ended: Ended): void {
  program
    .command('run')
    .description('Run the pods of manifests on this machine, without a cluster, until Ctrl-C.')
    .argument(
      '<file...>',
      'manifests in YAML or JSON, or folders of them: pods, and what they refer to; changes are followed',
    )
    .option('--once', 'end when every pod is ready or done, and show what it logged')
    .addOption(new Option('--timeout <duration>', 'how long --once waits').argParser(duration).default(300_000, '5m'))
    .option('--root <dir>', 'what is kept: images, volumes, logs', folder, '/var/lib/nodelet')
    .option('--state <dir>', 'what a reboot clears: sockets, running containers', folder, '/run/nodelet')
    .addOption(new Option('--pod-cidr <cidr>', 'addresses of pods').argParser(ipv4Cidr).default('10.87.0.0/16'))
    .addOption(registryConfigDirs())
    .addOption(new Option('--v <level>', 'log more: 2 what happens, 4 details').argParser(wholeNumber).default(0))
    .addHelpText('after', RUN_HELP)
    .action(async (paths: string[], flags: RunFlags) => {
      const { once = false, root: rootDir, state: stateDir, podCidr, v: verbosity, timeout: timeoutMs } = flags;
      const places = { rootDir, stateDir, podCidr, registryConfigDirs: flags.registryConfigDir };
      ended(await run({ paths, once, ...places, verbosity, timeoutMs }));
    });
}

function addNodeCommands(program: Command, { kubelet, version }: Commands, ended: Ended): void {
  program
    .command('kubelet')
    .description('Be the node agent of this machine, in the place of kubelet.')
    .usage('[kubelet flags]')
    .argument('[flags...]')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .addHelpText('after', KUBELET_HELP)
    .action(async (flags: string[]) => ended(await kubelet(flags)));
  program
    .command('version')
    .description('Print the version.')
    .action(async () => ended(await version()));
}
