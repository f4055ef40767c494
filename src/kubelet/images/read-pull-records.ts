import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { decodeIntent, decodePulled, type ImagePulledRecord, isRecordFile } from './pull-record.ts';

/** kubelet's folders for the records of pulls. */
export interface RecordFolders {
  readonly root: string;
  readonly pulling: string;
  readonly pulled: string;
}

/** What is on disk, by file name. */
export interface StoredRecords {
  /** The images that were about to be pulled. */
  readonly intents: Map<string, string | 'unreadable'>;
  readonly pulled: Map<string, ImagePulledRecord | 'unreadable'>;
  /** When, on the monotonic clock, a record was last written, or found to say already what was to be written. */
  readonly confirmedMs: Map<string, number>;
}

export function recordFolders(rootDir: string): RecordFolders {
  const root = `${rootDir}/image_manager`;
  return { root, pulling: `${root}/pulling`, pulled: `${root}/pulled` };
}

/** Rejects with a `FileSystemError` when a folder cannot be listed; one that is not there yet has no records. */
export async function readRecordFolders({ pulling, pulled }: RecordFolders, fs: FileSystem): Promise<StoredRecords> {
  return {
    intents: await readFolder(pulling, decodeIntent, fs),
    pulled: await readFolder(pulled, decodePulled, fs),
    confirmedMs: new Map(),
  };
}

async function readFolder<T>(
  folder: string,
  decode: (text: string) => T | undefined,
  fs: FileSystem,
): Promise<Map<string, T | 'unreadable'>> {
  const found = new Map<string, T | 'unreadable'>();
  for (const { name, kind } of await entriesIfExists(folder, fs)) {
    if (kind !== 'directory' && isRecordFile(name)) {
      const text = await fs.readText(`${folder}/${name}`).catch(() => '');
      found.set(name, decode(text) ?? 'unreadable');
    }
  }
  return found;
}

async function entriesIfExists(folder: string, fs: FileSystem): ReturnType<FileSystem['readDirectory']> {
  try {
    return await fs.readDirectory(folder);
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return [];
    throw error;
  }
}
