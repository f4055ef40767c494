import type { ImageOperations, ListedImage } from '../app/embedded/image-operations.ts';
import { withImages } from '../app/embedded/with-images.ts';
import { assertNever } from '../base/assert-never.ts';
import { CriError } from '../cri/cri-error.ts';
import type { Host } from '../host/host.ts';
import { type CommandContext, EXIT } from './command-context.ts';
import type { ImageOptions, RuntimePlaces } from './commands.ts';
import { folder } from './option-values.ts';
import { requireRootOnLinux } from './require-root.ts';
import { textTable } from './text-table.ts';

/** `nodelet image`: through the runtime that is at work on these folders, else by itself. */
export async function imageCommand(options: ImageOptions, context: CommandContext): Promise<number> {
  requireRootOnLinux(context);
  const { host, terminal } = context;
  const { signal } = new AbortController();
  const said = await withImages({ ...options, host }, (images) => carryOut(options, images, context, signal), signal);
  await terminal.stdout.write(said);
  return EXIT.ok;
}

async function carryOut(
  options: ImageOptions,
  images: ImageOperations,
  context: CommandContext,
  signal: AbortSignal,
): Promise<string> {
  switch (options.verb) {
    case 'load': {
      const load = (path: string) => images.load({ path }, signal);
      const loaded = await (options.archive === '-'
        ? fromInput(options, context, load)
        : load(folder(options.archive)));
      return lines(loaded.map(({ name, id }) => `${name} loaded (${shortId(id)})`));
    }
    case 'build-from-rootfs': {
      const { name, id } = await images.build(options, signal);
      return lines([`${name} made (${shortId(id)})`]);
    }
    case 'tag': {
      const { name, id } = await images.tag(options, signal);
      return lines([`${name} is ${shortId(id)}`]);
    }
    case 'rm': {
      // Told one by one: those before one that fails are gone.
      for (const image of options.images) {
        const { name } = await images.remove({ image }, signal);
        await context.terminal.stdout.write(lines([`${name} removed`]));
      }
      return '';
    }
    case 'ls':
      return imageTable(await images.list({}, signal));
    default:
      return assertNever(options);
  }
}

/** Whoever owns the images reads the archive, which may be another process: it gets a file. */
async function fromInput<T>(
  { rootDir }: RuntimePlaces,
  { host, terminal, pid }: CommandContext,
  load: (path: string) => Promise<T>,
): Promise<T> {
  const path = `${rootDir}/image-${pid}.tar`;
  await host.fs.makeDirectory(rootDir, 0o711);
  await sweepInputs(rootDir, host);
  await host.fs.writeFile(path, '', { mode: 0o600 });
  try {
    for await (const chunk of terminal.input()) await host.fs.appendFile(path, chunk);
    return await load(path);
  } catch (error) {
    if (!(error instanceof CriError)) throw error;
    throw new CriError(error.code, error.message.replaceAll(path, 'standard input'), { cause: error });
  } finally {
    await host.fs.remove(path);
  }
}

/** Who was killed while it read left its file. */
async function sweepInputs(rootDir: string, { fs }: Host): Promise<void> {
  for (const { name } of await fs.readDirectory(rootDir)) {
    const pid = /^image-(\d+)\.tar$/.exec(name)?.[1];
    if (pid !== undefined && (await fs.stat(`/proc/${pid}`)) === undefined) await fs.remove(`${rootDir}/${name}`);
  }
}

function imageTable(images: readonly ListedImage[]): string {
  const rows = images.flatMap(({ id, names, sizeBytes }) =>
    (names.length === 0 ? ['<none>'] : names).map((name) => [name, shortId(id), sizeText(sizeBytes)]),
  );
  return textTable([['IMAGE', 'ID', 'SIZE'], ...rows]);
}

/** As Docker and crictl print it. */
function shortId(id: string): string {
  return id.replace(/^sha256:/, '').slice(0, 12);
}

function sizeText(bytes: number): string {
  if (bytes < 1e3) return `${bytes}B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)}kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)}MB` : `${(bytes / 1e9).toFixed(2)}GB`;
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}
