import type { ImageOperations } from '../../app/embedded/image-operations.ts';
import { collectText } from '../../base/byte-chunks.ts';
import { goArchitecture } from '../../base/go/go-architecture.ts';
import { ImageNameError, parseImageName } from '../../base/image-name.ts';
import { AuthConfig } from '../../cri/generated/runtime-v1.ts';
import { CommandError, EXIT } from '../options/command-error.ts';
import type { PullOptions } from '../options/image-options.ts';
import { showPull } from '../output/pull-screen.ts';
import { shortId } from '../output/short-id.ts';
import type { CommandContext } from './command-context.ts';
import { dockerLogin } from './docker-login.ts';

/** How to log in for an image; `undefined`: not at all. */
export type LoginFor = (image: string, signal: AbortSignal) => Promise<AuthConfig | undefined>;

/** Refuses what cannot be done, and reads the password, before anything is touched. */
export async function preparePull(options: PullOptions, context: CommandContext): Promise<LoginFor> {
  refusePlatform(options.platform);
  const registries = new Set(options.images.map(registryOf));
  const { username } = options;
  if (username === undefined) return (image, signal) => dockerLogin(image, loginDeps(context), signal);
  if (registries.size > 1) {
    const names = [...registries].join(', ');
    throw new CommandError(`one login is for one registry, and these are ${names}`, EXIT.badInput);
  }
  const auth = AuthConfig.fromPartial({ username, password: await passwordOf(context) });
  return async () => auth;
}

/** Answers what to print. */
export async function pullOne(
  image: string,
  { quiet, loginFor }: { readonly quiet: boolean; readonly loginFor: LoginFor },
  images: ImageOperations,
  { terminal, host }: CommandContext,
  signal: AbortSignal,
): Promise<string> {
  const request = { image, auth: await loginFor(image, signal) };
  if (quiet) return (await images.pull(request, signal)).name;
  const { name, id } = await showPull(image, { terminal, clock: host.clock }, (watch) =>
    images.pull(request, signal, watch),
  );
  return `${name} pulled (${shortId(id)})`;
}

function refusePlatform(platform: string | undefined): void {
  const here = `linux/${goArchitecture()}`;
  if (platform === undefined || platform.replace(/^(linux\/arm64)\/v8$/, '$1') === here) return;
  throw new CommandError(`only images for ${here} run on this machine, and only those are pulled`, EXIT.badInput);
}

function registryOf(image: string): string {
  try {
    return parseImageName(image).domain;
  } catch (error) {
    if (!(error instanceof ImageNameError)) throw error;
    throw new CommandError(`${JSON.stringify(image)} is not the name of an image`, EXIT.badInput, { cause: error });
  }
}

async function passwordOf({ terminal }: CommandContext): Promise<string> {
  if (terminal.inputIsTerminal) {
    throw new CommandError('--password-stdin reads no terminal: pipe the password in', EXIT.badInput);
  }
  const text = await collectText(terminal.input());
  const password = text.replace(/\r?\n$/, '');
  if (password === '') throw new CommandError('there is no password on standard input', EXIT.badInput);
  return password;
}

function loginDeps({ host, env, terminal }: CommandContext) {
  const warn = (text: string): Promise<void> => terminal.stderr.write(`nodelet image: ${text}\n`);
  return { fs: host.fs, processes: host.processes, env, warn };
}
