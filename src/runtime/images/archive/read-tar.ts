import { MAX_OWNER_ID } from '../../../base/numeric-id.ts';
import { fileNameOf } from '../../../host/file-name.ts';
import type { TreeAttributes, TreeNode } from '../../../host/tree.ts';
import { type ByteInput, UnexpectedEofError } from './byte-reader.ts';
import { type PaxFields, parsePaxRecords } from './pax-records.ts';
import { oldSparseMap, paxSparseMap, type SparseMap } from './sparse-map.ts';
import { BLOCK_BYTES, MAX_FILE_BYTES, parseTarHeader, TarError, type TarHeader } from './tar-header.ts';

/** A member of an archive by its name there. Its content must be read before the next member is requested. */
export interface TarMember {
  readonly name: string;
  readonly node: TreeNode;
  /** Offset and length of the content in the archive. The bytes between contents are the frame. */
  readonly offset: number;
  readonly stored: number;
}

/** Limit for the names and attributes of a member; more is an attack. */
const MAX_HEADER_BYTES = 1024 * 1024;
/** Limit for consecutive headers without a member. */
const MAX_EXTENDED_HEADERS = 32;
/** Device numbers have 12 and 20 bits. */
const MAX_MAJOR = 2 ** 12 - 1;
const MAX_MINOR = 2 ** 20 - 1;
/** End of the year 9999; no file system goes further. */
const MAX_SECONDS = 253_402_300_799;

/** The extended headers that precede a member's own header. */
interface ExtendedHeaders {
  readonly pax: PaxFields;
  readonly longName?: string;
  readonly longLink?: string;
}

/** Reads up to the end marker or the end of the data: some archivers omit the marker. Throws `TarError` or `UnexpectedEofError`. */
export async function* readTar(bytes: ByteInput): AsyncGenerator<TarMember, void, void> {
  let extended: ExtendedHeaders = { pax: {} };
  let headers = 0;
  let offset = 0;
  for (let block = await bytes.readExactly(BLOCK_BYTES); block; block = await bytes.readExactly(BLOCK_BYTES)) {
    offset += BLOCK_BYTES;
    const header = parseTarHeader(block);
    if (header === undefined) return;
    // A pax size applies to the member, not to another extended header before it.
    const size = checkedSize(isExtendedHeader(header) ? header.size : (extended.pax.size ?? header.size));
    const padding = (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
    const more = await readExtendedHeader(bytes, header, size);
    if (more) {
      if (++headers > MAX_EXTENDED_HEADERS) throw new TarError('invalid tar header: too many of them without a member');
      extended = { ...extended, ...more };
      await bytes.skip(padding);
      offset += size + padding;
      continue;
    }
    const sparse = await sparseMap(bytes, block, { header, extended, size });
    offset += sparse?.headerBytes ?? 0;
    const stored = hasContent(header.type) ? size - (sparse?.contentBytes ?? 0) : 0;
    const content = new MemberContent(bytes, stored);
    const node = buildNode(header, extended, content, sparse ?? { size });
    yield { name: memberName(header, extended), node, offset: offset + (sparse?.contentBytes ?? 0), stored };
    const rest = hasContent(header.type) ? content.left + padding : 0;
    if (rest > 0) await bytes.skip(rest);
    if (hasContent(header.type)) offset += size + padding;
    extended = { pax: {} };
    headers = 0;
  }
}

/** Reads an extended header; returns `undefined` if the header is a member. */
async function readExtendedHeader(
  bytes: ByteInput,
  { type }: TarHeader,
  size: number,
): Promise<Partial<ExtendedHeaders> | undefined> {
  if (!isExtendedHeader({ type })) return undefined;
  if (size > MAX_HEADER_BYTES) throw new TarError(`invalid tar header: ${size} bytes of metadata`);
  const data = size === 0 ? new Uint8Array() : await bytes.readExactly(size);
  if (data === undefined) throw new UnexpectedEofError('unexpected end of data in a tar header');
  if (type === 'x' || type === 'X') return { pax: parsePaxRecords(data) };
  if (type === 'L') return { longName: untilNul(data) };
  if (type === 'K') return { longLink: untilNul(data) };
  return {}; // global pax header: has no attributes of files
}

function isExtendedHeader({ type }: Pick<TarHeader, 'type'>): boolean {
  return 'xXgLK'.includes(type);
}

function untilNul(data: Uint8Array): string {
  const end = data.indexOf(0);
  return fileNameOf(end === -1 ? data : data.subarray(0, end));
}

async function sparseMap(
  bytes: ByteInput,
  block: Uint8Array,
  member: { readonly header: TarHeader; readonly extended: ExtendedHeaders; readonly size: number },
): Promise<SparseMap | undefined> {
  const { header, extended, size } = member;
  if (header.type === 'S') return oldSparseMap(block, bytes, size);
  return extended.pax.sparse && hasContent(header.type) ? paxSparseMap(extended.pax.sparse, bytes, size) : undefined;
}

function hasContent(type: string): boolean {
  return type === '0' || type === '7' || type === 'S';
}

function checkedSize(size: number): number {
  if (!Number.isInteger(size) || size < 0 || size > MAX_FILE_BYTES)
    throw new TarError(`invalid tar header: size ${size}`);
  return size;
}

function memberName(header: TarHeader, { pax, longName }: ExtendedHeaders): string {
  return pax.path ?? longName ?? header.name;
}

function attributesOf(header: TarHeader, { pax }: ExtendedHeaders): TreeAttributes {
  const seconds = pax.modifiedSeconds ?? header.modifiedSeconds;
  return {
    mode: header.mode & 0o7777,
    uid: checkedNumber('owner', pax.uid ?? header.uid, MAX_OWNER_ID),
    gid: checkedNumber('group', pax.gid ?? header.gid, MAX_OWNER_ID),
    modifiedMs: Math.min(Math.max(seconds, -MAX_SECONDS), MAX_SECONDS) * 1000,
    ...(pax.xattrs ? { xattrs: pax.xattrs } : {}),
  };
}

function deviceOf({ major, minor }: TarHeader): { readonly major: number; readonly minor: number } {
  return {
    major: checkedNumber('device', major, MAX_MAJOR),
    minor: checkedNumber('device', minor, MAX_MINOR),
  };
}

function checkedNumber(what: string, value: number, most: number): number {
  if (!Number.isInteger(value) || value < 0 || value > most) {
    throw new TarError(`invalid tar header: no ${what} has the number ${value}`);
  }
  return value;
}

function buildNode(
  header: TarHeader,
  extended: ExtendedHeaders,
  content: MemberContent,
  { size, extents }: Pick<SparseMap, 'size'> & Partial<SparseMap>,
): TreeNode {
  const target = extended.pax.linkPath ?? extended.longLink ?? header.linkName;
  const attributes = attributesOf(header, extended);
  switch (header.type) {
    case '0':
    case '7':
    case 'S':
      if (memberName(header, extended).endsWith('/')) return { ...attributes, kind: 'directory' }; // pre-POSIX directory
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
      throw new TarError(
        `${memberName(header, extended)}: unknown kind ${JSON.stringify(header.type)} of a tar member`,
      );
  }
}

/** The content of one member. */
class MemberContent implements AsyncIterable<Uint8Array> {
  readonly #bytes: ByteInput;
  left: number;

  constructor(bytes: ByteInput, size: number) {
    this.#bytes = bytes;
    this.left = size;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    while (this.left > 0) {
      const some = await this.#bytes.read(this.left);
      if (some === undefined) throw new UnexpectedEofError(`unexpected end of data, ${this.left} bytes are missing`);
      this.left -= some.byteLength;
      yield some;
    }
  }
}
