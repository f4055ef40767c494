import type { FileSystem } from '../host/file-system.ts';

/** A process that serves the pod resources API of a root directory. */
export interface OtherKubelet {
  readonly pid: number;
  /** The name of its program. */
  readonly name: string;
}

type Proc = Pick<FileSystem, 'readText' | 'readDirectory' | 'readLink'>;

/** `__SO_ACCEPTCON`: the socket listens. */
const LISTENS = 0x1_0000;

/**
 * The kubelet that runs on a root directory, if one does. kubelet locks no file there, but listens on a socket
 * in its folder `pod-resources` from its start to its end, under whatever name it was bound. Nodelet must not listen yet.
 */
export async function findOtherKubelet(rootDir: string, fs: Proc): Promise<OtherKubelet | undefined> {
  const table = await fs.readText('/proc/net/unix').catch(() => '');
  const inodes = listeningInodes(table, `${rootDir}/pod-resources/`);
  if (inodes.length === 0) return undefined;
  const links = new Set(inodes.map((inode) => `socket:[${inode}]`));
  const processes = (await fs.readDirectory('/proc')).filter(({ name }) => /^\d+$/.test(name));
  for (const { name: pid } of processes) {
    if (!(await hasSocket(pid, links, fs))) continue;
    const name = await fs.readText(`/proc/${pid}/comm`).catch(() => '');
    return { pid: Number(pid), name: name.trim() };
  }
  return undefined; // it has just ended
}

/** The sockets of `/proc/net/unix` that listen in a folder, which ends with a slash. */
export function listeningInodes(table: string, folder: string): readonly string[] {
  return table.split('\n').flatMap((line) => {
    // Num RefCount Protocol Flags Type St Inode Path
    const [, flags = '', inode = '', path = ''] =
      /^[\da-fA-F]+: [\da-fA-F]+ [\da-fA-F]+ ([\da-fA-F]+) [\da-fA-F]+ [\da-fA-F]+ +(\d+) (.*)$/.exec(line) ?? [];
    const listens = (Number.parseInt(flags, 16) & LISTENS) !== 0;
    return listens && path.startsWith(folder) ? [inode] : [];
  });
}

async function hasSocket(pid: string, links: ReadonlySet<string>, fs: Proc): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const descriptors = await fs.readDirectory(folder).catch(() => []); // the process has ended
  for (const { name } of descriptors) {
    if (links.has(await fs.readLink(`${folder}/${name}`).catch(() => ''))) return true;
  }
  return false;
}
