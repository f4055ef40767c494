import type { ImageOperations } from '../../app/embedded/image-operations.ts';
import { withImages } from '../../app/embedded/with-images.ts';
import { assertNever } from '../../base/assert-never.ts';
import { CriError, isNotFound } from '../../cri/cri-error.ts';
import { CommandError, EXIT } from '../options/command-error.ts';
import type { ImageOptions } from '../options/image-options.ts';
import { folder } from '../options/option-values.ts';
import { imageList } from '../output/image-list.ts';
import { shortId } from '../output/short-id.ts';
import type { CommandContext } from './command-context.ts';
import { preparePull, pullOne } from './image-pull.ts';
import { archiveWriter } from './image-save.ts';
import { requireRootOnLinux } from './require-root.ts';
import { untilInterrupted } from './until-interrupted.ts';

/** An operation on the images, through a runtime or directly; returns an exit code. */
type Work = (images: ImageOperations, signal: AbortSignal) => Promise<number>;

/** `nodelet image`: through the runtime that uses these folders, or directly without one. */
export async function imageCommand(options: ImageOptions, context: CommandContext): Promise<number> {
  requireRootOnLinux(context);
  const { host, env, pid, terminal } = context;
  const registryConfigDirs = options.verb === 'pull' ? options.registryConfigDirs : undefined;
  const onWaiting = (text: string): void => void terminal.stderr.write(`nodelet image: ${text}\n`).catch(() => {});
  const places = { ...options, host, env, pid, onWaiting, registryConfigDirs };
  const work = await imageWork(options, context);
  return untilInterrupted(context, interruptedText(options.verb), (signal) =>
    withImages(places, (images) => work(images, signal), signal),
  );
}

/** Validates the request before anything is changed. */
async function imageWork(options: ImageOptions, context: CommandContext): Promise<Work> {
  const print = (...texts: readonly string[]): Promise<void> =>
    context.terminal.stdout.write(texts.map((text) => `${text}\n`).join(''));
  switch (options.verb) {
    case 'pull': {
      const loginFor = await preparePull(options, context);
      const { quiet } = options;
      return (images, signal) =>
        oneByOne(options.images, context, signal, async (image) =>
          print(await pullOne(image, { quiet, loginFor }, images, context, signal)),
        );
    }
    case 'load': {
      const archive = givenArchive(options.archive, context);
      return async (images, signal) => {
        const loaded = await images.load(archive, signal);
        await print(...loaded.map(({ name, id }) => `${name} loaded (${shortId(id)})`));
        return EXIT.ok;
      };
    }
    case 'save': {
      const write = await archiveWriter(options.output, context);
      return async (images, signal) => {
        await context.terminal.stdout.write(await write(images.save({ images: options.images }, signal)));
        return EXIT.ok;
      };
    }
    case 'rm':
      return (images, signal) =>
        oneByOne(options.images, context, signal, async (image) => {
          const removed = await images.remove({ image }, signal).catch((error: unknown) => {
            if (!(options.force && isNotFound(error))) throw error;
          });
          if (removed) await print(`${removed.name} removed`);
        });
    case 'ls':
    case 'tag':
    case 'build-from-rootfs':
      return async (images, signal) => {
        await context.terminal.stdout.write(await resultText(options, images, signal));
        return EXIT.ok;
      };
    default:
      return assertNever(options);
  }
}

type QuickOptions = Extract<ImageOptions, { readonly verb: 'ls' | 'tag' | 'build-from-rootfs' }>;

async function resultText(options: QuickOptions, images: ImageOperations, signal: AbortSignal): Promise<string> {
  switch (options.verb) {
    case 'ls':
      return imageList(await images.list({}, signal), options);
    case 'tag': {
      const { name, id } = await images.tag(options, signal);
      return `${name} is ${shortId(id)}\n`;
    }
    case 'build-from-rootfs': {
      const { name, id } = await images.build(options, signal);
      return `${name} made (${shortId(id)})\n`;
    }
    default:
      return assertNever(options);
  }
}

function givenArchive(archive: string, { terminal }: CommandContext) {
  if (archive !== '-' && archive !== '/dev/stdin') return { path: folder(archive) };
  if (terminal.inputIsTerminal) {
    throw new CommandError('there is no archive on a terminal: name a file, or pipe one in', EXIT.badInput);
  }
  return { bytes: terminal.input() };
}

/** An error of one image does not stop the others. */
async function oneByOne(
  names: readonly string[],
  { terminal }: CommandContext,
  signal: AbortSignal,
  work: (name: string) => Promise<void>,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  for (const name of names) {
    try {
      await work(name);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof CriError) || names.length === 1) throw error;
      await terminal.stderr.write(`nodelet image: ${error.message}\n`);
      exitCode = EXIT.failed;
    }
  }
  return exitCode;
}

function interruptedText(verb: ImageOptions['verb']): string {
  return verb === 'pull' ? 'interrupted; layers that are whole stay for the next try' : 'interrupted';
}
