import type { FileExtent } from '../../../host/tree.ts';
import { type ByteInput, UnexpectedEofError } from './byte-reader.ts';
import { BLOCK_BYTES, MAX_FILE_BYTES, numberAt, TarError } from './tar-header.ts';

/** https://www.gnu.org/software/tar/manual/html_node/Sparse-Formats.html */
export interface SparseMap {
  /** Size of the file including its holes. */
  readonly size: number;
  readonly extents: readonly FileExtent[];
  /** Bytes read for the map: after the header, and as part of the member's content. */
  readonly headerBytes: number;
  readonly contentBytes: number;
}

/** The sparse fields of pax records. */
export interface PaxSparse {
  readonly size: number;
  /** Offsets and lengths; absent: the map is at the beginning of the content. */
  readonly map?: readonly number[];
}

/** A longer map is an attack. */
const MAX_MAP_BYTES = 1024 * 1024;
const PAIR_BYTES = 24;
const OLD_PAIRS = { offset: 386, count: 4, more: 482, size: 483 } as const;
const MORE_PAIRS = { count: 21, more: 504 } as const;

/** Reads the map of the old GNU format: in the header, and in the blocks after it. */
export async function oldSparseMap(header: Uint8Array, bytes: ByteInput, stored: number): Promise<SparseMap> {
  const numbers = pairsAt(header, OLD_PAIRS.offset, OLD_PAIRS.count);
  let headerBytes = 0;
  let hasMore = header[OLD_PAIRS.more] === 1;
  while (hasMore) {
    if (headerBytes >= MAX_MAP_BYTES) throw new TarError('invalid tar header: a sparse map is too long');
    const block = await readBlock(bytes);
    headerBytes += BLOCK_BYTES;
    numbers.push(...pairsAt(block, 0, MORE_PAIRS.count));
    hasMore = block[MORE_PAIRS.more] === 1;
  }
  const size = numberAt(header, OLD_PAIRS.size, 12);
  return { size, extents: checkedExtents(numbers, size, stored), headerBytes, contentBytes: 0 };
}

/** Reads the map from pax records, or from the first blocks of the content. */
export async function paxSparseMap({ size, map }: PaxSparse, bytes: ByteInput, stored: number): Promise<SparseMap> {
  if (map) return { size, extents: checkedExtents(map, size, stored), headerBytes: 0, contentBytes: 0 };
  const lines: string[] = [];
  let rest = '';
  for (let contentBytes = BLOCK_BYTES; contentBytes <= Math.min(MAX_MAP_BYTES, stored); contentBytes += BLOCK_BYTES) {
    const parts = `${rest}${Buffer.from(await readBlock(bytes)).toString('latin1')}`.split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
    const [count] = lines;
    const end = count === undefined ? Number.POSITIVE_INFINITY : 1 + 2 * decimal(count);
    if (lines.length < end) continue;
    const extents = checkedExtents(lines.slice(1, end).map(decimal), size, stored - contentBytes);
    return { size, extents, headerBytes: 0, contentBytes };
  }
  throw new TarError('invalid sparse map: it has no end');
}

function pairsAt(block: Uint8Array, offset: number, count: number): number[] {
  const numbers: number[] = [];
  for (let index = 0; index < count; index++) {
    const at = offset + index * PAIR_BYTES;
    if (block[at] === 0) break;
    numbers.push(numberAt(block, at, 12), numberAt(block, at + 12, 12));
  }
  return numbers;
}

async function readBlock(bytes: ByteInput): Promise<Uint8Array> {
  const block = await bytes.readExactly(BLOCK_BYTES);
  if (block === undefined) throw new UnexpectedEofError('unexpected end of data in a sparse map');
  return block;
}

export function decimal(text: string): number {
  if (!/^\d{1,16}$/.test(text)) throw new TarError(`invalid sparse map: ${JSON.stringify(text)}`);
  return Number(text);
}

function checkedExtents(numbers: readonly number[], size: number, stored: number): readonly FileExtent[] {
  const extents: FileExtent[] = [];
  let [end, sum] = [0, 0];
  for (let index = 0; index < numbers.length; index += 2) {
    const [offset = -1, length = -1] = [numbers[index], numbers[index + 1]];
    if (offset < end || length < 0 || offset + length > size) throw new TarError('invalid sparse map: out of order');
    end = offset + length;
    sum += length;
    if (length > 0) extents.push({ offset, length });
  }
  if (sum !== stored) throw new TarError('invalid sparse map: not of this content');
  if (size > MAX_FILE_BYTES) throw new TarError(`invalid sparse map: a file of ${size} bytes`);
  return extents;
}
