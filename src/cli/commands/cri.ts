import { InvalidArgumentError, Option } from 'commander';
import type { CgroupDriver } from '../../host/cgroups.ts';
import { folder, folders, wholeNumber } from '../options/option-values.ts';
import {
  type FolderFlags,
  type RuntimeFolders,
  registryConfigDirs,
  withFolderOptions,
} from '../options/runtime-options.ts';
import type { CliCommand } from './cli-command.ts';

const CRI_HELP = `
Containers keep running when it stops, and are adopted when it starts.

Examples:
  nodelet cri --listen unix:///run/nodelet/cri.sock
  crictl --runtime-endpoint unix:///run/nodelet/cri.sock ps
`;

export interface CriOptions extends RuntimeFolders {
  /** `unix://…` */
  readonly listen: string;
  readonly cniConfDir: string;
  readonly cniBinDirs: readonly string[];
  /** Programs by the name of their handler, besides those that are always looked for. */
  readonly handlers: ReadonlyMap<string, string>;
  /** Absent: no NRI. */
  readonly nriSocket: string | undefined;
  readonly registryConfigDirs: readonly string[];
  readonly cgroupDriver: CgroupDriver;
  readonly verbosity: number;
}

interface CriFlags extends FolderFlags {
  readonly listen: string;
  readonly cniConfDir: string;
  readonly cniBinDir: readonly string[];
  readonly runtimeHandler: ReadonlyMap<string, string>;
  readonly nriSocket?: string;
  readonly registryConfigDir: readonly string[];
  readonly cgroupDriver: CriOptions['cgroupDriver'];
  readonly v: number;
}

export const cri: CliCommand<CriOptions> = {
  name: 'cri',
  define(program, run) {
    withFolderOptions(program.command('cri'))
      .description('Run a CRI runtime, for crictl or another agent.')
      .addOption(
        new Option('--listen <endpoint>', 'the socket to serve')
          .argParser(endpoint)
          .default('unix:///run/nodelet/cri.sock'),
      )
      .option('--cni-conf-dir <dir>', 'network configurations', folder, '/etc/cni/net.d')
      .addOption(
        new Option('--cni-bin-dir <dirs>', 'network plugins; several folders separated by colons')
          .argParser(folders)
          .default(['/opt/cni/bin', '/usr/lib/cni'], '/opt/cni/bin:/usr/lib/cni'),
      )
      .addOption(
        new Option('--runtime-handler <name=program...>', 'one more OCI runtime, such as kata=/usr/bin/kata-runtime')
          .argParser(handlers)
          .default(new Map(), 'crun, or runc if crun does not work here'),
      )
      .addOption(
        new Option(
          '--cgroup-driver <driver>',
          'who creates the cgroups of containers: the runtime, or systemd as scopes',
        )
          .choices(['cgroupfs', 'systemd'])
          .default('cgroupfs'),
      )
      .option('--nri-socket <path>', 'let NRI plugins register here (off without it)', folder)
      .addOption(registryConfigDirs())
      .addOption(verbosity())
      .addHelpText('after', CRI_HELP)
      .action(async (flags: CriFlags) => {
        const { listen, root: rootDir, state: stateDir, cniConfDir, cniBinDir: cniBinDirs, nriSocket, v } = flags;
        const { runtimeHandler: handlers, registryConfigDir: registryConfigDirs, cgroupDriver } = flags;
        const images = { registryConfigDirs };
        const network = { cniConfDir, cniBinDirs };
        await run({
          listen,
          rootDir,
          stateDir,
          ...network,
          ...images,
          handlers,
          nriSocket,
          cgroupDriver,
          verbosity: v,
        });
      });
  },
  execute: async (options, context) => (await import('./cri-command.ts')).criCommand(options, context),
};

function verbosity(): Option {
  return new Option('--v <level>', 'log more: 2 what happens, 4 details').argParser(wholeNumber).default(0);
}

function endpoint(text: string): string {
  if (!/^unix:\/\/\/./.test(text))
    throw new InvalidArgumentError('It must be a socket such as unix:///run/nodelet/cri.sock.');
  return text;
}

function handlers(text: string, before: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const [, name, program] = /^([A-Za-z0-9][A-Za-z0-9.-]*)=(\/.+)$/.exec(text) ?? [];
  if (name === undefined || program === undefined) {
    throw new InvalidArgumentError('It must be a name and the path of a program, such as kata=/usr/bin/kata-runtime.');
  }
  return new Map([...before, [name, program]]);
}
