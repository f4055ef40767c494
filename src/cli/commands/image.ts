import { type Command, Option } from 'commander';
import type { ImageOptions } from '../options/image-options.ts';
import { folder } from '../options/option-values.ts';
import {
  type FolderFlags,
  type RuntimeFolders,
  registryConfigDirsIfGiven,
  withFolderOptions,
} from '../options/runtime-options.ts';
import type { CliCommand } from './cli-command.ts';

const IMAGE_HELP = `
Works with or without a running runtime on the same folders.

Examples:
  nodelet image pull docker.io/library/busybox:1.36
  nodelet image save busybox:1.36 -o busybox.tar
  zcat app.tar.gz | nodelet image load
  nodelet image build-from-rootfs ./rootfs localhost/tools:1 --cmd sh
  nodelet image ls
`;

const PULL_HELP = `
Several are pulled one after the other; what one brought is not fetched for the next. Ctrl-C gives up: layers that are
whole stay for the next try. Mirrors and authorities of registries are read from /etc/containerd/certs.d and
/etc/docker/certs.d unless --registry-config-dir names others; a runtime that is at work goes by its own, and by its own
HTTPS_PROXY, HTTP_PROXY and NO_PROXY.

Without --username the login is docker's: config.json in $DOCKER_CONFIG or ~/.docker, with its credential helpers.

Examples:
  nodelet image pull docker.io/library/busybox:1.36 quay.io/team/app@sha256:…
  nodelet image pull --username me --password-stdin registry.example.com/app:1 < password
`;

const SAVE_HELP = `
The archive is OCI's image layout and that of 'docker save' at once: docker, podman, skopeo, ctr and 'nodelet image load'
take it as it is. An image that is given by its name has that name in it. A file is replaced only by a whole archive.

Examples:
  nodelet image save busybox:1.36 localhost/tools:1 -o images.tar
  nodelet image save busybox:1.36 | zstd > busybox.tar.zst
`;

const RM_HELP = `
A name goes, and the image with the last of its names; by its id an image goes with all of them. One that containers use
can be removed, as with every CRI runtime: they go on, and its layers go with the last of them.
`;

export const image: CliCommand<ImageOptions> = {
  name: 'image',
  define(program, run) {
    const group = program
      .command('image')
      .description('The images of this machine: pull, load, save, make, list, name, remove.')
      .addHelpText('after', IMAGE_HELP);
    const verb = (name: string): Command => withFolderOptions(group.command(name));
    const runVerb: RunVerb = (flags, options) => run({ rootDir: flags.root, stateDir: flags.state, ...options });
    addList(verb('ls'), runVerb);
    addPull(verb('pull'), runVerb);
    addLoad(verb('load'), runVerb);
    addSave(verb('save'), runVerb);
    verb('tag')
      .description('Give an image one more name.')
      .argument('<image>', 'a name or an id')
      .argument('<name>', 'such as localhost/tools:2')
      .action((from: string, to: string, flags: FolderFlags) => runVerb(flags, { verb: 'tag', image: from, name: to }));
    verb('rm')
      .alias('rmi')
      .description('Remove images.')
      .argument('<image...>', 'names or ids')
      .option('-f, --force', 'one that is not here is fine')
      .addHelpText('after', RM_HELP)
      .action((images: string[], flags: FolderFlags & { readonly force?: boolean }) =>
        runVerb(flags, { verb: 'rm', images, force: flags.force ?? false }),
      );
    addBuild(verb('build-from-rootfs'), runVerb);
  },
  execute: async (options, context) => (await import('./image-command.ts')).imageCommand(options, context),
};

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
type WithoutFolders = DistributiveOmit<ImageOptions, keyof RuntimeFolders>;
type RunVerb = (flags: FolderFlags, options: WithoutFolders) => Promise<void>;

interface ListFlags extends FolderFlags {
  readonly quiet?: boolean;
  readonly digests?: boolean;
  readonly trunc: boolean;
  readonly output?: 'json';
}

function addList(command: Command, run: RunVerb): void {
  command
    .alias('list')
    .description('List the images. SIZE is what was transferred.')
    .option('-q, --quiet', 'only the ids')
    .option('--digests', 'also what the names led to in the registry')
    .option('--no-trunc', 'whole ids')
    .addOption(new Option('-o, --output <format>', 'for other programs').choices(['json']))
    .action((flags: ListFlags) => {
      const { quiet, digests = false, trunc, output } = flags;
      return run(flags, { verb: 'ls', format: output ?? (quiet ? 'ids' : 'table'), digests, whole: !trunc });
    });
}

interface PullFlags extends FolderFlags {
  readonly quiet?: boolean;
  readonly username?: string;
  readonly passwordStdin?: boolean;
  readonly platform?: string;
  readonly registryConfigDir?: readonly string[];
}

function addPull(command: Command, run: RunVerb): void {
  command
    .description('Bring images from registries.')
    .argument('<image...>', "names: 'busybox' is docker.io/library/busybox:latest")
    .option('-q, --quiet', 'no progress, only the names')
    .option('-u, --username <name>', 'who logs in at the registry')
    .option('--password-stdin', 'read the password from standard input')
    .option('--platform <os/arch>', "only this machine's, and so it need not be given")
    .addOption(registryConfigDirsIfGiven())
    .addHelpText('after', PULL_HELP)
    .action((images: string[], flags: PullFlags) => {
      const { quiet = false, username, passwordStdin = false, platform, registryConfigDir: registryConfigDirs } = flags;
      if ((username !== undefined) !== passwordStdin) {
        command.error('error: --username and --password-stdin are given together, or neither');
      }
      return run(flags, { verb: 'pull', images, quiet, username, platform, registryConfigDirs });
    });
}

function addLoad(command: Command, run: RunVerb): void {
  command
    .description('Take the images of an archive in: OCI layout or docker save, compressed with gzip or zstd or not.')
    .argument('[archive]', "a file; '-' or nothing reads standard input")
    .option('-i, --input <file>', 'the same, as docker has it')
    .action((archive: string | undefined, flags: FolderFlags & { readonly input?: string }) => {
      if (archive !== undefined && flags.input !== undefined) command.error('error: one archive at a time');
      return run(flags, { verb: 'load', archive: archive ?? flags.input ?? '-' });
    });
}

function addSave(command: Command, run: RunVerb): void {
  command
    .description('Write images into an archive.')
    .argument('<image...>', 'names or ids')
    .option('-o, --output <file>', "a file; '-' is standard output", '-')
    .addHelpText('after', SAVE_HELP)
    .action((images: string[], flags: FolderFlags & { readonly output: string }) =>
      run(flags, { verb: 'save', images, output: flags.output }),
    );
}

interface BuildFlags extends FolderFlags {
  readonly cmd: readonly string[];
  readonly entrypoint: readonly string[];
  readonly env: readonly string[];
  readonly user?: string;
  readonly workdir?: string;
}

function addBuild(command: Command, run: RunVerb): void {
  command
    .description('Make an image of a folder or a tar file: its content is the root of containers.')
    .argument('<rootfs>', 'a folder, or a tar file')
    .argument('<name>', 'such as localhost/tools:1')
    .option('--cmd <arg>', 'what runs unless a container says otherwise; once for each argument', collected, [])
    .option('--entrypoint <arg>', 'what runs it; once for each argument', collected, [])
    .option('--env <NAME=value>', 'an environment variable; may be repeated', collected, [])
    .option('--user <user>', 'a name or number, with a group behind a colon')
    .option('--workdir <dir>', 'the working folder')
    .action((rootfs: string, name: string, flags: BuildFlags) => {
      const { cmd, entrypoint, env, user = '', workdir: workingDir = '' } = flags;
      const config = { cmd, entrypoint, env, user, workingDir };
      return run(flags, { verb: 'build-from-rootfs', rootfs: folder(rootfs), name, config });
    });
}

function collected(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}
