import type { HostPathVolumeSource } from '../../api/generated/core-v1.ts';
import type { FileKind, FileSystem } from '../../host/file-system.ts';
import { volumePlugin } from './volume-plugin.ts';

const EXPECTED: Readonly<Record<string, { readonly kind: FileKind; readonly name: string }>> = {
  Directory: { kind: 'directory', name: 'a directory' },
  DirectoryOrCreate: { kind: 'directory', name: 'a directory' },
  File: { kind: 'file', name: 'a file' },
  FileOrCreate: { kind: 'file', name: 'a file' },
  Socket: { kind: 'socket', name: 'a socket file' },
  CharDevice: { kind: 'characterDevice', name: 'a character device' },
  BlockDevice: { kind: 'blockDevice', name: 'a block device' },
};

/** A path of the host. */
export const hostPathPlugin = volumePlugin({
  name: 'kubernetes.io/host-path',
  supportsRelabel: false,
  source: ({ volume, bound }) => volume.hostPath ?? bound?.volume.spec.hostPath,
  async setUp(source, { volume }, { fs }) {
    await checkHostPath(fs, source);
    return { path: source.path, readOnly: volume.readOnly };
  },
});

/** Checks that the path has the type that the volume declares, and creates it for the `OrCreate` types. */
async function checkHostPath(fs: FileSystem, { path, type = '' }: HostPathVolumeSource): Promise<void> {
  if (path.split('/').includes('..')) throw new Error(`invalid HostPath \`${path}\`: must not contain '..'`);
  if (type === '') return;
  const expected = Object.hasOwn(EXPECTED, type) ? EXPECTED[type] : undefined;
  if (!expected) throw new Error(`${type} is an invalid volume type`);
  const found = await fs.stat(path);
  if (!found && type === 'DirectoryOrCreate') await fs.makeDirectory(path, 0o755);
  // Appending does not truncate a file that another process has just created.
  else if (!found && type === 'FileOrCreate') await fs.appendFile(path, '');
  else if (found?.kind !== expected.kind)
    throw new Error(`hostPath type check failed: ${path} is not ${expected.name}`);
}
