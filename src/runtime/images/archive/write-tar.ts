import { bytesOfFileName, fileNameLength } from '../../../host/file-name.ts';
import type { TreeMember, TreeNode } from '../../../host/tree.ts';
import { BLOCK_BYTES } from './tar-header.ts';

/** https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html */
const TYPES: Readonly<Record<TreeNode['kind'], string>> = {
  file: '0',
  hardLink: '1',
  symlink: '2',
  characterDevice: '3',
  blockDevice: '4',
  directory: '5',
  fifo: '6',
};
const NAME_BYTES = 100;
/** The maximum of seven and eleven octal digits; larger numbers go into a pax record. */
const MAX_SHORT = 8 ** 7 - 1;
const MAX_LONG = 8 ** 11 - 1;

/** Writes a tree as a POSIX archive. The same tree gives the same bytes. */
export async function* writeTar(members: AsyncIterable<TreeMember>): AsyncGenerator<Uint8Array, void, void> {
  for await (const { path, node } of members) {
    const name = node.kind === 'directory' ? `${path === '' ? '.' : path}/` : path;
    const records = paxRecords(name, node);
    if (records.byteLength > 0) {
      yield headerBlock('pax', { type: 'x', size: records.byteLength });
      yield padded(records);
    }
    yield memberHeader(name, node);
    if (node.kind === 'file') yield* contentOf(node);
  }
  yield new Uint8Array(2 * BLOCK_BYTES);
}

async function* contentOf({ size, content }: Extract<TreeNode, { kind: 'file' }>) {
  let left = size;
  for await (const chunk of content) {
    left -= chunk.byteLength;
    yield chunk;
  }
  if (left !== 0) throw new Error('a file changed while it was read');
  yield new Uint8Array(paddingOf(size));
}

function memberHeader(name: string, node: TreeNode): Uint8Array {
  return headerBlock(name, {
    type: TYPES[node.kind],
    size: node.kind === 'file' ? node.size : 0,
    mode: node.mode,
    uid: node.uid,
    gid: node.gid,
    seconds: Math.max(0, Math.floor(node.modifiedMs / 1000)),
    link: linkTarget(node),
    ...('major' in node ? { major: node.major, minor: node.minor } : {}),
  });
}

interface HeaderFields {
  readonly type: string;
  readonly size: number;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly seconds?: number;
  readonly link?: string;
  readonly major?: number;
  readonly minor?: number;
}

function headerBlock(name: string, fields: HeaderFields): Uint8Array {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.set(Buffer.from(bytesOfFileName(name)).subarray(0, NAME_BYTES), 0);
  block.write(octal(fields.mode ?? 0o644, 7), 100);
  block.write(octal(fields.uid ?? 0, 7), 108);
  block.write(octal(fields.gid ?? 0, 7), 116);
  block.write(octal(fields.size, 11), 124);
  block.write(octal(fields.seconds ?? 0, 11), 136);
  block.write(' '.repeat(8), 148); // the checksum counts its own field as spaces
  block.write(fields.type, 156);
  block.set(Buffer.from(bytesOfFileName(fields.link ?? '')).subarray(0, NAME_BYTES), 157);
  block.write('ustar\u000000', 257);
  block.write(octal(fields.major ?? 0, 7), 329);
  block.write(octal(fields.minor ?? 0, 7), 337);
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${octal(checksum, 6)}\u0000`, 148);
  return block;
}

/** Returns pax records for values that do not fit into the header. */
function paxRecords(name: string, node: TreeNode): Uint8Array {
  const link = linkTarget(node);
  const size = node.kind === 'file' ? node.size : 0;
  const texts: ReadonlyArray<readonly [string, string | undefined]> = [
    ['path', fileNameLength(name) > NAME_BYTES ? name : undefined],
    ['linkpath', fileNameLength(link) > NAME_BYTES ? link : undefined],
    ['size', size > MAX_LONG ? String(size) : undefined],
    ['uid', node.uid > MAX_SHORT ? String(node.uid) : undefined],
    ['gid', node.gid > MAX_SHORT ? String(node.gid) : undefined],
  ];
  const records = texts.flatMap(([key, value]) =>
    value === undefined ? [] : [paxRecord(key, Buffer.from(bytesOfFileName(value)))],
  );
  const xattrs = [...(node.xattrs ?? [])].map(([key, value]) => paxRecord(`SCHILY.xattr.${key}`, value));
  return Buffer.concat([...records, ...xattrs]);
}

/** The length includes its own digits. */
function paxRecord(key: string, value: Uint8Array): Uint8Array {
  const rest = Buffer.concat([Buffer.from(bytesOfFileName(` ${key}=`)), value, Buffer.from('\n')]);
  const guess = rest.byteLength + String(rest.byteLength).length;
  return Buffer.concat([Buffer.from(String(rest.byteLength + String(guess).length)), rest]);
}

function linkTarget(node: TreeNode): string {
  return 'target' in node ? node.target : '';
}

function padded(data: Uint8Array): Uint8Array {
  return Buffer.concat([data, new Uint8Array(paddingOf(data.byteLength))]);
}

function paddingOf(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
}

/** A number that does not fit is in a pax record. */
function octal(value: number, digits: number): string {
  return (value > 8 ** digits - 1 ? 0 : value).toString(8).padStart(digits, '0');
}
