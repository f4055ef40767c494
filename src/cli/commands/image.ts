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
Several images are pulled one after the other and share their layers. Ctrl-C cancels; complete layers are kept for the
next attempt. Mirrors and authorities of registries are read from /etc/containerd/certs.d and
/etc/docker/certs.d unless --registry-config-dir names others; a running runtime uses its own folders, and its own
HTTPS_PROXY, HTTP_PROXY and NO_PROXY.

Without --username, credentials are docker's: config.json in $DOCKER_CONFIG or ~/.docker, with its credential helpers.

Examples:
  nodelet image pull docker.io/library/busybox:1.36 quay.io/team/app@sha256:…
  nodelet image pull --username me --password-stdin registry.example.com/app:1 < password
`;

const SAVE_HELP = `
The archive is both an OCI image layout and a 'docker save' archive: docker, podman, skopeo, ctr and 'nodelet image load'
read it. An image that is given by name keeps that name. An existing file is replaced only by a complete archive.

Examples:
  nodelet image save busybox:1.36 localhost/tools:1 -o images.tar
  nodelet image save busybox:1.36 | zstd > busybox.tar.zst
`;

const RM_HELP = `
Removes a name, and the image with its last name; an id removes the image with all names. An image in use can be removed,
as with every CRI runtime: its containers keep running, and its layers are removed with the last of them.
`;

export const image: CliCommand<ImageOptions> = {
  name: 'image',
  define(program, run) {
    const group = program
      .command('image')
      .description('Manage the images of this machine: pull, load, save, build, list, tag, remove.')
      .addHelpText('after', IMAGE_HELP);
    const verb = (name: string): Command => withFolderOptions(group.command(name));
    const runVerb: RunVerb = (flags, options) => run({ rootDir: flags.root, stateDir: flags.state, ...options });
    addList(verb('ls'), runVerb);
    addPull(verb('pull'), runVerb);
    addLoad(verb('load'), runVerb);
    addSave(verb('save'), runVerb);
    verb('tag')
      .description('Add a name to an image.')
      .argument('<image>', 'a name or an id')
      .argument('<name>', 'such as localhost/tools:2')
      .action((from: string, to: string, flags: FolderFlags) => runVerb(flags, { verb: 'tag', image: from, name: to }));
    verb('rm')
      .alias('rmi')
      .description('Remove images.')
      .argument('<image...>', 'names or ids')
      .option('-f, --force', 'ignore missing images')
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
    .description('List the images. SIZE is the size as transferred.')
    .option('-q, --quiet', 'only the ids')
    .option('--digests', 'also the digests of the names in the registry')
    .option('--no-trunc', 'full ids')
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
    .description('Pull images from registries.')
    .argument('<image...>', "names: 'busybox' is docker.io/library/busybox:latest")
    .option('-q, --quiet', 'no progress, only the names')
    .option('-u, --username <name>', 'user name for the registry')
    .option('--password-stdin', 'read the password from standard input')
    .option('--platform <os/arch>', "only this machine's platform is supported")
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
    .description(
      'Load the images of an archive: OCI layout or docker save, uncompressed or compressed with gzip or zstd.',
    )
    .argument('[archive]', "a file; '-' or nothing reads standard input")
    .option('-i, --input <file>', 'the same, as in docker')
    .action((archive: string | undefined, flags: FolderFlags & { readonly input?: string }) => {
      if (archive !== undefined && flags.input !== undefined) command.error('error: one archive at a time');
      return run(flags, { verb: 'load', archive: archive ?? flags.input ?? '-' });
    });
}

function addSave(command: Command, run: RunVerb): void {
  command
    .description('Save images to an archive.')
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
    .description('Build an image from a folder or a tar file that holds the root file system.')
    .argument('<rootfs>', 'a folder, or a tar file')
    .argument('<name>', 'such as localhost/tools:1')
    .option('--cmd <arg>', 'default command; once for each argument', collected, [])
    .option('--entrypoint <arg>', 'entrypoint; once for each argument', collected, [])
    .option('--env <NAME=value>', 'an environment variable; may be repeated', collected, [])
    .option('--user <user>', 'user name or id, optionally with :group')
    .option('--workdir <dir>', 'the working directory')
    .action((rootfs: string, name: string, flags: BuildFlags) => {
      const { cmd, entrypoint, env, user = '', workdir: workingDir = '' } = flags;
      const config = { cmd, entrypoint, env, user, workingDir };
      return run(flags, { verb: 'build-from-rootfs', rootfs: folder(rootfs), name, config });
    });
}

function collected(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}
