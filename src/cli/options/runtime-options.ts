import { type Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_RUNTIME_CONFIG } from '../../app/embedded/embedded-settings.ts';
import type { Commands } from './commands.ts';
import { folder, wholeNumber } from './option-values.ts';

type Ended = (exitCode: number) => void;

export interface PlaceFlags {
  readonly root: string;
  readonly state: string;
}

const CRI_HELP = `
Containers go on when it ends, and are found again when it starts.

Examples:
  nodelet cri --listen unix:///run/nodelet/cri.sock
  crictl --runtime-endpoint unix:///run/nodelet/cri.sock ps
`;

interface CriFlags extends PlaceFlags {
  readonly listen: string;
  readonly cniConfDir: string;
  readonly cniBinDir: readonly string[];
  readonly runtimeHandler: ReadonlyMap<string, string>;
  readonly nriSocket?: string;
  readonly registryConfigDir: readonly string[];
  readonly v: number;
}

/** `nodelet cri` */
export function addCri(program: Command, { cri }: Commands, ended: Ended): void {
  withPlaces(program.command('cri'))
    .description('Be a CRI runtime, for crictl or another agent.')
    .addOption(
      new Option('--listen <endpoint>', 'the socket to serve')
        .argParser(endpoint)
        .default('unix:///run/nodelet/cri.sock'),
    )
    .option('--cni-conf-dir <dir>', 'network configurations', folder, '/etc/cni/net.d')
    .addOption(
      new Option('--cni-bin-dir <dirs>', 'network plugins; several folders behind colons')
        .argParser(folders)
        .default(['/opt/cni/bin', '/usr/lib/cni'], '/opt/cni/bin:/usr/lib/cni'),
    )
    .addOption(
      new Option('--runtime-handler <name=program...>', 'one more OCI runtime, such as kata=/usr/bin/kata-runtime')
        .argParser(handlers)
        .default(new Map(), 'crun, or runc where that does not work'),
    )
    .option('--nri-socket <path>', 'let NRI plugins register here (off without it)', folder)
    .addOption(registryConfigDirs())
    .addOption(verbosity())
    .addHelpText('after', CRI_HELP)
    .action(async (flags: CriFlags) => {
      const { listen, root: rootDir, state: stateDir, cniConfDir, cniBinDir: cniBinDirs, nriSocket, v } = flags;
      const { runtimeHandler: handlers, registryConfigDir: registryConfigDirs } = flags;
      const images = { registryConfigDirs };
      const network = { cniConfDir, cniBinDirs };
      ended(await cri({ listen, rootDir, stateDir, ...network, ...images, handlers, nriSocket, verbosity: v }));
    });
}

/** For every command that has a runtime, or talks to one. */
export function withPlaces(command: Command): Command {
  return command
    .option('--root <dir>', 'what is kept: images, volumes, logs', folder, '/var/lib/nodelet')
    .option('--state <dir>', 'what a reboot clears: sockets, running containers', folder, '/run/nodelet');
}

/** Of everything that pulls. */
export function registryConfigDirs(): Option {
  const { registryConfigDirs: usual } = DEFAULT_RUNTIME_CONFIG;
  return registryConfigDirsIfGiven().default(usual, usual.join(':'));
}

export function registryConfigDirsIfGiven(): Option {
  const what = 'mirrors and authorities of registries, <registry>/hosts.toml; several folders behind colons';
  return new Option('--registry-config-dir <dirs>', what).argParser(folders);
}

function verbosity(): Option {
  return new Option('--v <level>', 'log more: 2 what happens, 4 details').argParser(wholeNumber).default(0);
}

function endpoint(text: string): string {
  if (!/^unix:\/\/\/./.test(text))
    throw new InvalidArgumentError('It must be a socket such as unix:///run/nodelet/cri.sock.');
  return text;
}

function folders(text: string): readonly string[] {
  return text.split(':').map(folder);
}

function handlers(text: string, before: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const [, name, program] = /^([A-Za-z0-9][A-Za-z0-9.-]*)=(\/.+)$/.exec(text) ?? [];
  if (name === undefined || program === undefined) {
    throw new InvalidArgumentError('It must be a name and the path of a program, such as kata=/usr/bin/kata-runtime.');
  }
  return new Map([...before, [name, program]]);
}
