import { MAX_OWNER_ID } from '../../../base/numeric-id.ts';
import { fileNameOf } from '../../../host/file-name.ts';
import type { TreeAttributes, TreeNode } from '../../../host/tree.ts';
import { type Bytes, CutOffError } from './byte-reader.ts';
import { type PaxFields, parsePaxRecords } from './pax-records.ts';
import { oldSparseMap, paxSparseMap, type SparseMap } from './sparse-map.ts';
import { BLOCK_BYTES, MOST_FILE_BYTES, parseTarHeader, TarError, type TarHeader } from './tar-header.ts';

/** A member of an archive, by the name that it has there. A content is to be read before the next member is asked for. */
export interface TarMember {
  readonly name: string;
  readonly node: TreeNode;
  /** Where its content begins in the archive, and how much there is of it. What is between contents is the frame. */
  readonly offset: number;
  readonly stored: number;
}

/** Names and attributes of a member; more is an attack. */
const MOST_METADATA = 1024 * 1024;
/** Headers in a row that say something of a member to come. */
const MOST_PRELUDE = 32;
/** Twelve and twenty bits. */
const MOST_MAJOR = 2 ** 12 - 1;
const MOST_MINOR = 2 ** 20 - 1;
/** To the end of the year 9999; no file system goes further. */
const MOST_SECONDS = 253_402_300_799;

/** Everything that stands before a member's own header. */
interface Prelude {
  readonly pax: PaxFields;
  readonly longName?: string;
  readonly longLink?: string;
}

/** To the end mark of the archive, or the end of the data: some archivers leave the mark out. Throws a `TarError`. */
export async function* readTar(bytes: Bytes): AsyncGenerator<TarMember, void, void> {
  let prelude: Prelude = { pax: {} };
  let headers = 0;
  let offset = 0;
  for (let block = await bytes.exactly(BLOCK_BYTES); block; block = await bytes.exactly(BLOCK_BYTES)) {
    offset += BLOCK_BYTES;
    const header = parseTarHeader(block);
    if (header === undefined) return;
    // What pax says is of the member itself, not of another header before it.
    const size = checkedSize(isMetadata(header) ? header.size : (prelude.pax.size ?? header.size));
    const padding = (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
    const more = await metadata(bytes, header, size);
    if (more) {
      if (++headers > MOST_PRELUDE) throw new TarError('invalid tar header: too many of them without a member');
      prelude = { ...prelude, ...more };
      await bytes.skip(padding);
      offset += size + padding;
      continue;
    }
    const sparse = await sparseMap(bytes, block, { header, prelude, size });
    offset += sparse?.headerBytes ?? 0;
    const stored = hasContent(header.type) ? size - (sparse?.contentBytes ?? 0) : 0;
    const content = new MemberContent(bytes, stored);
    const node = nodeOf(header, prelude, content, sparse ?? { size });
    yield { name: nameOf(header, prelude), node, offset: offset + (sparse?.contentBytes ?? 0), stored };
    const rest = hasContent(header.type) ? content.left + padding : 0;
    if (rest > 0) await bytes.skip(rest);
    if (hasContent(header.type)) offset += size + padding;
    prelude = { pax: {} };
    headers = 0;
  }
}

/** What a header that is no member tells of the member to come; `undefined`: it is a member. */
async function metadata(bytes: Bytes, { type }: TarHeader, size: number): Promise<Partial<Prelude> | undefined> {
  if (!isMetadata({ type })) return undefined;
  if (size > MOST_METADATA) throw new TarError(`invalid tar header: ${size} bytes of metadata`);
  const data = size === 0 ? new Uint8Array() : await bytes.exactly(size);
  if (data === undefined) throw new CutOffError('unexpected end of data in a tar header');
  if (type === 'x' || type === 'X') return { pax: parsePaxRecords(data) };
  if (type === 'L') return { longName: untilNul(data) };
  if (type === 'K') return { longLink: untilNul(data) };
  return {}; // of the whole archive: nothing that a file system keeps
}

function isMetadata({ type }: Pick<TarHeader, 'type'>): boolean {
  return 'xXgLK'.includes(type);
}

function untilNul(data: Uint8Array): string {
  const end = data.indexOf(0);
  return fileNameOf(end === -1 ? data : data.subarray(0, end));
}

async function sparseMap(
  bytes: Bytes,
  block: Uint8Array,
  member: { readonly header: TarHeader; readonly prelude: Prelude; readonly size: number },
): Promise<SparseMap | undefined> {
  const { header, prelude, size } = member;
  if (header.type === 'S') return oldSparseMap(block, bytes, size);
  return prelude.pax.sparse && hasContent(header.type) ? paxSparseMap(prelude.pax.sparse, bytes, size) : undefined;
}

function hasContent(type: string): boolean {
  return type === '0' || type === '7' || type === 'S';
}

function checkedSize(size: number): number {
  if (!Number.isInteger(size) || size < 0 || size > MOST_FILE_BYTES)
    throw new TarError(`invalid tar header: size ${size}`);
  return size;
}

function nameOf(header: TarHeader, { pax, longName }: Prelude): string {
  return pax.path ?? longName ?? header.name;
}

function attributesOf(header: TarHeader, { pax }: Prelude): TreeAttributes {
  const seconds = pax.modifiedSeconds ?? header.modifiedSeconds;
  return {
    mode: header.mode & 0o7777,
    uid: checkedNumber('owner', pax.uid ?? header.uid, MAX_OWNER_ID),
    gid: checkedNumber('group', pax.gid ?? header.gid, MAX_OWNER_ID),
    modifiedMs: Math.min(Math.max(seconds, -MOST_SECONDS), MOST_SECONDS) * 1000,
    ...(pax.xattrs ? { xattrs: pax.xattrs } : {}),
  };
}

function deviceOf({ major, minor }: TarHeader): { readonly major: number; readonly minor: number } {
  return {
    major: checkedNumber('device', major, MOST_MAJOR),
    minor: checkedNumber('device', minor, MOST_MINOR),
  };
}

function checkedNumber(what: string, value: number, most: number): number {
  if (!Number.isInteger(value) || value < 0 || value > most) {
    throw new TarError(`invalid tar header: no ${what} has the number ${value}`);
  }
  return value;
}

function nodeOf(
  header: TarHeader,
  prelude: Prelude,
  content: MemberContent,
  { size, extents }: Pick<SparseMap, 'size'> & Partial<SparseMap>,
): TreeNode {
  const target = prelude.pax.linkPath ?? prelude.longLink ?? header.linkName;
  const attributes = attributesOf(header, prelude);
  switch (header.type) {
    case '0':
    case '7':
    case 'S':
      if (nameOf(header, prelude).endsWith('/')) return { ...attributes, kind: 'directory' }; // before POSIX
      return { ...attributes, kind: 'file', size, content, ...(extents ? { extents } : {}) };
    case '1':
      return { ...attributes, kind: 'hardLink', target };
    case '2':
      return { ...attributes, kind: 'symlink', target };
    case '3':
      return { ...attributes, kind: 'characterDevice', ...deviceOf(header) };
    case '4':
      return { ...attributes, kind: 'blockDevice', ...deviceOf(header) };
    case '5':
      return { ...attributes, kind: 'directory' };
    case '6':
      return { ...attributes, kind: 'fifo' };
    default:
      throw new TarError(`${nameOf(header, prelude)}: unknown kind ${JSON.stringify(header.type)} of a tar member`);
  }
}

/** The bytes of one member. */
class MemberContent implements AsyncIterable<Uint8Array> {
  readonly #bytes: Bytes;
  left: number;

  constructor(bytes: Bytes, size: number) {
    this.#bytes = bytes;
    this.left = size;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    while (this.left > 0) {
      const some = await this.#bytes.some(this.left);
      if (some === undefined) throw new CutOffError(`unexpected end of data, ${this.left} bytes are missing`);
      this.left -= some.byteLength;
      yield some;
    }
  }
}
