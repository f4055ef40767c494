import type { TreeAttributes, TreeNode } from '../../../host/tree.ts';
import { type Bytes, CutOffError } from './byte-reader.ts';
import { type PaxFields, parsePaxRecords } from './pax-records.ts';
import { BLOCK_BYTES, parseTarHeader, TarError, type TarHeader } from './tar-header.ts';

/** A member of an archive, by the name that it has there. A content is to be read before the next member is asked for. */
export interface TarMember {
  readonly name: string;
  readonly node: TreeNode;
  /** Where its content begins in the archive. */
  readonly offset: number;
}

/** Names and attributes of a member; more is an attack. */
const MOST_METADATA = 1024 * 1024;

/** Everything that stands before a member's own header. */
interface Prelude {
  readonly pax: PaxFields;
  readonly longName?: string;
  readonly longLink?: string;
}

/** To the end mark of the archive, or the end of the data: some archivers leave the mark out. Throws a `TarError`. */
export async function* readTar(bytes: Bytes): AsyncGenerator<TarMember, void, void> {
  let prelude: Prelude = { pax: {} };
  let offset = 0;
  for (let block = await bytes.exactly(BLOCK_BYTES); block; block = await bytes.exactly(BLOCK_BYTES)) {
    offset += BLOCK_BYTES;
    const header = parseTarHeader(block);
    if (header === undefined) return;
    const size = checkedSize(prelude.pax.size ?? header.size);
    const padding = (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
    const more = await metadata(bytes, header, size);
    if (more) {
      prelude = { ...prelude, ...more };
      await bytes.skip(padding);
      offset += size + padding;
      continue;
    }
    const content = new MemberContent(bytes, hasContent(header.type) ? size : 0);
    yield { name: nameOf(header, prelude), node: nodeOf(header, prelude, content, size), offset };
    await bytes.skip(content.left);
    if (hasContent(header.type)) {
      await bytes.skip(padding);
      offset += size + padding;
    }
    prelude = { pax: {} };
  }
}

/** What a header that is no member tells of the member to come; `undefined`: it is a member. */
async function metadata(bytes: Bytes, { type }: TarHeader, size: number): Promise<Partial<Prelude> | undefined> {
  if (!'xXgLK'.includes(type)) return undefined;
  if (size > MOST_METADATA) throw new TarError(`invalid tar header: ${size} bytes of metadata`);
  const data = size === 0 ? new Uint8Array() : await bytes.exactly(size);
  if (data === undefined) throw new CutOffError('unexpected end of data in a tar header');
  if (type === 'x' || type === 'X') return { pax: parsePaxRecords(data) };
  if (type === 'L') return { longName: untilNul(data) };
  if (type === 'K') return { longLink: untilNul(data) };
  return {}; // of the whole archive: nothing that a file system keeps
}

function untilNul(data: Uint8Array): string {
  const end = data.indexOf(0);
  return new TextDecoder().decode(end === -1 ? data : data.subarray(0, end));
}

function hasContent(type: string): boolean {
  return type === '0' || type === '7';
}

function checkedSize(size: number): number {
  if (!Number.isSafeInteger(size) || size < 0) throw new TarError(`invalid tar header: size ${size}`);
  return size;
}

function nameOf(header: TarHeader, { pax, longName }: Prelude): string {
  return pax.path ?? longName ?? header.name;
}

function nodeOf(header: TarHeader, prelude: Prelude, content: MemberContent, size: number): TreeNode {
  const { pax } = prelude;
  const target = pax.linkPath ?? prelude.longLink ?? header.linkName;
  const { major, minor } = header;
  const attributes: TreeAttributes = {
    mode: header.mode & 0o7777,
    uid: pax.uid ?? header.uid,
    gid: pax.gid ?? header.gid,
    modifiedMs: (pax.modifiedSeconds ?? header.modifiedSeconds) * 1000,
    ...(pax.xattrs ? { xattrs: pax.xattrs } : {}),
  };
  switch (header.type) {
    case '0':
    case '7':
      if (nameOf(header, prelude).endsWith('/')) return { ...attributes, kind: 'directory' }; // before POSIX
      return { ...attributes, kind: 'file', size, content };
    case '1':
      return { ...attributes, kind: 'hardLink', target };
    case '2':
      return { ...attributes, kind: 'symlink', target };
    case '3':
      return { ...attributes, kind: 'characterDevice', major, minor };
    case '4':
      return { ...attributes, kind: 'blockDevice', major, minor };
    case '5':
      return { ...attributes, kind: 'directory' };
    case '6':
      return { ...attributes, kind: 'fifo' };
    case 'S':
      throw new TarError('sparse files in archives are not supported');
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
