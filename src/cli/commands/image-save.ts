import { dirname } from 'node:path/posix';
import { FileSystemError } from '../../host/file-system.ts';
import type { Host } from '../../host/host.ts';
import { CommandError, EXIT } from '../options/command-error.ts';
import { folder } from '../options/option-values.ts';
import { byteSize } from '../output/byte-size.ts';
import type { CommandContext } from './command-context.ts';

/** Bytes collected before they are appended to a file. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** As `docker save` does it: an image may hold secrets. */
const MODE = 0o600;

/** Where an archive goes; refuses what is no place for one. Answers what to print when it is whole. */
export type ArchivePlace = (archive: AsyncIterable<Uint8Array>) => Promise<string>;

export async function archiveWriter(output: string, context: CommandContext): Promise<ArchivePlace> {
  const { host, terminal, pid } = context;
  if (output === '-') {
    if (terminal.stdout.isTerminal) {
      const message = 'an archive is not for a terminal: give -o FILE, or redirect standard output';
      throw new CommandError(message, EXIT.badInput);
    }
    return async (archive) => {
      for await (const piece of archive) await terminal.stdout.write(piece);
      return '';
    };
  }
  const path = await realPlace(folder(output), host);
  return async (archive) => {
    const temporary = `${path}.${pid}.tmp`;
    try {
      return `${output} written (${byteSize(await replaceFile(path, temporary, archive, host))})\n`;
    } catch (error) {
      if (!(error instanceof FileSystemError && error.path === temporary)) throw error;
      throw new CommandError(`cannot write ${path}: ${fileErrorText(error)}`, EXIT.failed, { cause: error });
    }
  };
}

function fileErrorText({ code }: FileSystemError): string {
  return { ENOSPC: 'no space left on device', EROFS: 'read-only file system', EDQUOT: 'quota exceeded' }[code] ?? code;
}

/** The file behind a link is replaced, not the link. A device or a pipe is nothing to replace. */
async function realPlace(path: string, { fs }: Host): Promise<string> {
  const found = await fs.stat(path);
  if (found === undefined) {
    if ((await fs.stat(dirname(path)))?.kind === 'directory') return path;
    throw new CommandError(`cannot write ${path}: there is no folder ${dirname(path)}`, EXIT.badInput);
  }
  if (found.kind === 'file') return fs.realPath(path);
  const what = found.kind === 'directory' ? 'it is a folder' : 'it is no file; redirect standard output to it';
  throw new CommandError(`cannot write ${path}: ${what}`, EXIT.badInput);
}

/** The file has its name only when it is whole; one that has it already stays until then. */
async function replaceFile(
  path: string,
  temporary: string,
  archive: AsyncIterable<Uint8Array>,
  { fs }: Host,
): Promise<number> {
  let [waiting, size, total]: [Uint8Array[], number, number] = [[], 0, 0];
  const flush = async (): Promise<void> => {
    await fs.appendFile(temporary, Buffer.concat(waiting));
    [waiting, size, total] = [[], 0, total + size];
  };
  await fs.writeFile(temporary, '', { mode: MODE });
  try {
    for await (const piece of archive) {
      waiting.push(piece);
      size += piece.byteLength;
      if (size >= PIECE_BYTES) await flush();
    }
    await flush();
    await fs.rename(temporary, path);
    return total;
  } catch (error) {
    await fs.remove(temporary);
    throw error;
  }
}
