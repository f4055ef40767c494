import type { FileSystem } from '../../host/file-system.ts';

const SUFFIX = '.log';
/** As in kubelet: a shorter text is not a container id. */
const SHORTEST_ID = 6;

/**
 * Removes links to missing logs. The log of a running container may be missing briefly while it is rotated: its link
 * stays. `isAlive` gets a container id, or the prefix of one that was truncated in a long file name.
 */
export async function removeDeadLogLinks(
  folder: string,
  fs: FileSystem,
  isAlive: (id: string) => boolean,
): Promise<void> {
  if (!(await fs.stat(folder))) return;
  for (const { name, kind } of await fs.readDirectory(folder)) {
    if (kind !== 'symlink' || !name.endsWith(SUFFIX) || (await fs.stat(`${folder}/${name}`))) continue;
    const id = containerIdIn(name);
    if (id === undefined || !isAlive(id)) await fs.remove(`${folder}/${name}`);
  }
}

/** `web_default_main-0123….log` */
function containerIdIn(name: string): string | undefined {
  const id = name.slice(name.lastIndexOf('-') + 1, -SUFFIX.length);
  return name.includes('-') && id.length >= SHORTEST_ID ? id : undefined;
}
