import type { HostPathVolumeSource } from '../../api/generated/core-v1.ts';
import type { FileKind, FileSystem } from '../../host/file-system.ts';

const EXPECTED: Readonly<Record<string, { readonly kind: FileKind; readonly name: string }>> = {
  Directory: { kind: 'directory', name: 'a directory' },
  DirectoryOrCreate: { kind: 'directory', name: 'a directory' },
  File: { kind: 'file', name: 'a file' },
  FileOrCreate: { kind: 'file', name: 'a file' },
  Socket: { kind: 'socket', name: 'a socket file' },
  CharDevice: { kind: 'characterDevice', name: 'a character device' },
  BlockDevice: { kind: 'blockDevice', name: 'a block device' },
};

/** Checks that the path is what the volume's type says, and makes it where the type says so. */
export async function prepareHostPath(fs: FileSystem, { path, type = '' }: HostPathVolumeSource): Promise<string> {
  if (path.split('/').includes('..')) throw new Error(`invalid HostPath \`${path}\`: must not contain '..'`);
  if (type === '') return path;
  const expected = Object.hasOwn(EXPECTED, type) ? EXPECTED[type] : undefined;
  if (!expected) throw new Error(`${type} is an invalid volume type`);
  const found = await fs.stat(path);
  if (!found && type === 'DirectoryOrCreate') await fs.makeDirectory(path, 0o755);
  // Appending never cuts short what another has just made.
  else if (!found && type === 'FileOrCreate') await fs.appendFile(path, '');
  else if (found?.kind !== expected.kind)
    throw new Error(`hostPath type check failed: ${path} is not ${expected.name}`);
  return path;
}
