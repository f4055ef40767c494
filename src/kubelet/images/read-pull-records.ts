import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { decodeIntent, decodePulled, type ImagePulledRecord, isRecordFile } from './pull-record.ts';

/** kubelet's directories for the records of pulls. */
export interface RecordFolders {
  readonly root: string;
  readonly pulling: string;
  readonly pulled: string;
}

/** The records on disk, by file name. */
export interface StoredRecords {
  /** The images of pull intents. */
  readonly intents: Map<string, string | 'unreadable'>;
  readonly pulled: Map<string, ImagePulledRecord | 'unreadable'>;
  /** The monotonic time when a record was last written or confirmed. */
  readonly confirmedMs: Map<string, number>;
}

export function recordFolders(rootDir: string): RecordFolders {
  const root = `${rootDir}/image_manager`;
  return { root, pulling: `${root}/pulling`, pulled: `${root}/pulled` };
}

/** Rejects with a `FileSystemError` if a directory cannot be listed. A missing directory is empty. */
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
