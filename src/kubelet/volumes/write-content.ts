import { Buffer } from 'node:buffer';
import { posix } from 'node:path';
import { mapInBatches } from '../../base/map-in-batches.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';
import { setVolumeOwnership } from './fs-group.ts';
import type { VolumeContent, VolumeFile } from './volume-content.ts';

const DATA = '..data';
const NEW_DATA = '..data_tmp';
/** `..2026_11_15_13_30_00.1234567890` */
const VERSION = /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/;
/** Number of files that are written or read at once. */
const BATCH_SIZE = 32;
const ROOT_GROUP = 0;
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 4096;

export interface WriteContentDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Replaces the content of a volume atomically, as kubelet's `AtomicWriter`.
 *
 * 1. Each version is a directory. `..data` is a link to the current one, and the visible names are links through
 *    `..data`: one rename changes all of them.
 * 2. An error or a crash before that rename changes nothing. The next call removes leftovers and completes the steps
 *    after the rename.
 * 3. Content that is already there is not written again.
 */
export async function writeContent(
  folder: string,
  content: VolumeContent,
  group: number | undefined,
  deps: WriteContentDeps,
): Promise<void> {
  const files = validateContent(content);
  if (!(await isUpToDate(folder, files, deps.fs))) await writeVersion(folder, files, group, deps);
  await updateVisibleLinks(folder, files, deps.fs);
  await removeOldVersions(folder, deps.fs);
}

/** The link to the current version. It does not exist before the first version. */
export function currentDataPath(folder: string): string {
  return `${folder}/${DATA}`;
}

/** Throws kubelet's message for a path that leads out of the volume or is reserved by kubelet. */
function validateContent(content: VolumeContent): VolumeContent {
  return new Map([...content].map(([path, file]) => [cleanPath(path), file] as const));
}

/** `./sub//name/` becomes `sub/name`. Both spellings are validated. */
function cleanPath(path: string): string {
  const clean = posix.resolve('/', path).slice(1);
  const error = pathError(path) ?? pathError(clean);
  if (error !== undefined) throw new Error(`invalid path: ${error}`);
  return clean;
}

function pathError(path: string): string | undefined {
  if (path === '') return 'must not be empty: ""';
  if (path.startsWith('/')) return `must be relative path: ${path}`;
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `must be less than or equal to ${MAX_PATH_BYTES} characters`;
  const names = path.split('/');
  if (names.includes('..')) return `must not contain '..': ${path}`;
  if (names.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)) {
    return `filenames must be less than or equal to ${MAX_NAME_BYTES} characters`;
  }
  return path.startsWith('..') ? `must not start with '..': ${path}` : undefined;
}

async function isUpToDate(folder: string, content: VolumeContent, fs: FileSystem): Promise<boolean> {
  const present = currentDataPath(folder);
  if ((await fs.stat(present))?.kind !== 'directory') return false;
  const paths = await filesBelow(present, fs);
  if (paths.length !== content.size || !paths.every((path) => content.has(path))) return false;
  const same = await mapInBatches([...content], BATCH_SIZE, async ([path, { data }]) => {
    return Buffer.compare(await fs.readFile(`${present}/${path}`), data) === 0;
  });
  return !same.includes(false);
}

async function filesBelow(folder: string, fs: FileSystem, prefix = ''): Promise<string[]> {
  const entries = await fs.readDirectory(`${folder}/${prefix}`);
  const paths = entries.map(async ({ name, kind }) => {
    const path = `${prefix}${name}`;
    return kind === 'directory' ? filesBelow(folder, fs, `${path}/`) : [path];
  });
  return (await Promise.all(paths)).flat();
}

async function writeVersion(
  folder: string,
  content: VolumeContent,
  group: number | undefined,
  { fs, clock, random }: WriteContentDeps,
): Promise<void> {
  const version = versionName(clock.now(), random);
  const at = `${folder}/${version}`;
  try {
    await fs.makeDirectory(at, 0o755);
    for (const subfolder of parentFolders(content)) await fs.makeDirectory(`${at}/${subfolder}`, 0o755);
    await mapInBatches([...content], BATCH_SIZE, ([path, file]) => writeFileWithOwner(`${at}/${path}`, file, fs));
    if (group !== undefined) await setVolumeOwnership(fs, at, group, 'read');
    await fs.remove(`${folder}/${NEW_DATA}`);
    await fs.symbolicLink(version, `${folder}/${NEW_DATA}`);
    await fs.rename(`${folder}/${NEW_DATA}`, currentDataPath(folder));
  } catch (error) {
    // Frees the space on a full disk. If the removal fails, the next call removes the directory.
    await fs.removeTree(at).catch(() => undefined);
    throw error;
  }
}

async function writeFileWithOwner(path: string, { data, mode, owner }: VolumeFile, fs: FileSystem): Promise<void> {
  await fs.writeFile(path, data, { mode });
  if (owner !== undefined) await fs.changeOwner(path, owner, ROOT_GROUP);
}

function versionName(nowMs: number, random: Random): string {
  const stamp = formatTime(nowMs).slice(0, -1).replace(/[-:T]/g, '_');
  return `..${stamp}.${Buffer.from(random.bytes(4)).readUInt32BE()}`;
}

/** Parents come before their children. */
function parentFolders(content: VolumeContent): readonly string[] {
  const folders = [...content.keys()].flatMap((path) => {
    const names = path.split('/').slice(0, -1);
    return names.map((_, index) => names.slice(0, index + 1).join('/'));
  });
  return [...new Set(folders)];
}

/**
 * Updates the links of the visible names. An entry that is not a symlink is the mount point of another volume and
 * stays.
 */
async function updateVisibleLinks(folder: string, content: VolumeContent, fs: FileSystem): Promise<void> {
  const owners = new Map([...content].map(([path, { owner }]) => [path.split('/')[0] ?? path, owner]));
  const entries = (await fs.readDirectory(folder)).filter(({ name }) => !name.startsWith('..'));
  for (const { name, kind } of entries) {
    if (kind === 'symlink' && !owners.has(name)) await fs.remove(`${folder}/${name}`);
  }
  const there = new Set(entries.map(({ name }) => name));
  const missing = [...owners].filter(([name]) => !there.has(name));
  await mapInBatches(missing, BATCH_SIZE, async ([name, owner]) => {
    await fs.symbolicLink(`${DATA}/${name}`, `${folder}/${name}`);
    if (owner !== undefined) await fs.changeOwner(`${folder}/${name}`, owner, ROOT_GROUP);
  });
}

/** Removes versions that are not current any more or never were. */
async function removeOldVersions(folder: string, fs: FileSystem): Promise<void> {
  const present = await fs.readLink(currentDataPath(folder));
  for (const { name } of await fs.readDirectory(folder)) {
    const isOld = VERSION.test(name) && name !== present;
    if (isOld || name === NEW_DATA) await fs.removeTree(`${folder}/${name}`);
  }
}
