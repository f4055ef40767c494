import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Commands, ImageOptions, RuntimePlaces } from './commands.ts';
import { folder, wholeNumber } from './option-values.ts';

type Ended = (exitCode: number) => void;

interface PlaceFlags {
  readonly root: string;
  readonly state: string;
}

const CRI_HELP = `
Containers go on when it ends, and are found again when it starts.

Examples:
  nodelet cri --listen unix:///run/nodelet/cri.sock
  crictl --runtime-endpoint unix:///run/nodelet/cri.sock ps
`;

const IMAGE_HELP = `
Works with or without a running runtime on the same folders.

Examples:
  nodelet image load busybox.tar
  nodelet image build-from-rootfs ./rootfs localhost/tools:1 --cmd sh
  nodelet image ls
`;

interface CriFlags extends PlaceFlags {
  readonly listen: string;
  readonly cniConfDir: string;
  readonly cniBinDir: readonly string[];
  readonly runtimeHandler: ReadonlyMap<string, string>;
  readonly nriSocket?: string;
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
    .addOption(verbosity())
    .addHelpText('after', CRI_HELP)
    .action(async (flags: CriFlags) => {
      const { listen, root: rootDir, state: stateDir, cniConfDir, cniBinDir: cniBinDirs, nriSocket, v } = flags;
      const network = { cniConfDir, cniBinDirs };
      const handlersGiven = flags.runtimeHandler;
      ended(await cri({ listen, rootDir, stateDir, ...network, handlers: handlersGiven, nriSocket, verbosity: v }));
    });
}

/** `nodelet image …` */
export function addImage(program: Command, { image }: Commands, ended: Ended): void {
  const group = program
    .command('image')
    .description('The images of this machine: load, make, list, name, remove.')
    .addHelpText('after', IMAGE_HELP);
  const verb = (name: string): Command => withPlaces(group.command(name));
  const places = ({ root: rootDir, state: stateDir }: PlaceFlags) => ({ rootDir, stateDir });

  verb('load')
    .description('Take the images of an archive in: OCI layout or docker save, compressed or not.')
    .argument('<archive>', "a file; '-' reads standard input")
    .action(async (archive: string, flags: PlaceFlags) => {
      ended(await image({ ...places(flags), verb: 'load', archive }));
    });
  verb('ls')
    .description('List the images.')
    .action(async (flags: PlaceFlags) => ended(await image({ ...places(flags), verb: 'ls' })));
  verb('tag')
    .description('Give an image one more name.')
    .argument('<image>', 'a name or an id')
    .argument('<name>', 'such as localhost/tools:2')
    .action(async (from: string, to: string, flags: PlaceFlags) => {
      ended(await image({ ...places(flags), verb: 'tag', image: from, name: to }));
    });
  verb('rm')
    .description('Remove images.')
    .argument('<image...>', 'names or ids')
    .action(async (images: string[], flags: PlaceFlags) => {
      ended(await image({ ...places(flags), verb: 'rm', images }));
    });
  addBuild(verb('build-from-rootfs'), (options, flags) => image({ ...places(flags), ...options }), ended);
}

interface BuildFlags extends PlaceFlags {
  readonly cmd: readonly string[];
  readonly entrypoint: readonly string[];
  readonly env: readonly string[];
  readonly user?: string;
  readonly workdir?: string;
}

type BuildVerb = Omit<Extract<ImageOptions, { readonly verb: 'build-from-rootfs' }>, keyof RuntimePlaces>;

function addBuild(
  command: Command,
  build: (options: BuildVerb, flags: PlaceFlags) => Promise<number>,
  ended: Ended,
): void {
  command
    .description('Make an image of a folder or a tar file: its content is the root of containers.')
    .argument('<rootfs>', 'a folder, or a tar file')
    .argument('<name>', 'such as localhost/tools:1')
    .option('--cmd <arg>', 'what runs unless a container says otherwise; once for each argument', collected, [])
    .option('--entrypoint <arg>', 'what runs it; once for each argument', collected, [])
    .option('--env <NAME=value>', 'an environment variable; may be repeated', collected, [])
    .option('--user <user>', 'a name or number, with a group behind a colon')
    .option('--workdir <dir>', 'the working folder')
    .action(async (rootfs: string, name: string, flags: BuildFlags) => {
      const { cmd, entrypoint, env, user = '', workdir: workingDir = '' } = flags;
      const config = { cmd, entrypoint, env, user, workingDir };
      ended(await build({ verb: 'build-from-rootfs', rootfs: folder(rootfs), name, config }, flags));
    });
}

function withPlaces(command: Command): Command {
  return command
    .option('--root <dir>', 'what is kept: images, volumes, logs', folder, '/var/lib/nodelet')
    .option('--state <dir>', 'what a reboot clears: sockets, running containers', folder, '/run/nodelet');
}

function verbosity(): Option {
  return new Option('--v <level>', 'log more: 2 what happens, 4 details').argParser(wholeNumber).default(0);
}

function endpoint(text: string): string {
  if (!/^unix:\/\/\/./.test(text))
    throw new InvalidArgumentError('It must be a socket such as unix:///run/nodelet/cri.sock.');
  return text;
}

function collected(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
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
