/** Archives as nobody honest writes them, drawn by fast-check. */
import { createHash } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';

/** Stands for a folder beside the storage, which nothing may touch. */
export const OUTSIDE = '@OUTSIDE@';

const plainPart = fc.constantFrom('a', 'b', 'c', '.wh.a', '.wh..wh..opq', '.');
const oddPart = fc.constantFrom(
  'a',
  'b',
  'c',
  '..',
  '.',
  '',
  'etc',
  '.wh.a',
  '.wh.b',
  '.wh..wh..opq',
  '.wh...',
  '.wh.',
  'é',
);
const part = fc.oneof({ weight: 12, arbitrary: plainPart }, { weight: 1, arbitrary: oddPart });
const oddName = fc.constantFrom(
  '/',
  '',
  '../../../../etc/passwd',
  `${OUTSIDE}/secret`,
  `/${OUTSIDE}/new`,
  'a/../../x',
  './a/./b//c/',
  'x'.repeat(300),
  'd/'.repeat(3000),
  'nul\0byte',
  '\u00ff\u00fe',
  '.wh..wh.plnk/x',
);
const name = fc.oneof(
  { weight: 20, arbitrary: fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/')) },
  { weight: 1, arbitrary: oddName },
);
const target = fc.oneof(name, fc.constantFrom(`${OUTSIDE}`, `${OUTSIDE}/secret`, '/', '..', '../../../..', 'a', 'b/c'));

/** A field of a header: digits, a large number, or anything. */
const number = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom('0000644', '0004755', '0001777', '0000000', '0000001') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '\u0080\0\0\0\0\0\u0001\0',
      '\u00ff'.repeat(8),
      '\u0080\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff',
      '-1',
      '9',
      '',
    ),
  },
);
const paxKey = fc.constantFrom(
  'path',
  'linkpath',
  'size',
  'uid',
  'gid',
  'mtime',
  'SCHILY.xattr.user.note',
  'SCHILY.xattr.trusted.overlay.opaque',
  'SCHILY.xattr.trusted.overlay.redirect',
  'SCHILY.xattr.user.overlay.whiteout',
  'SCHILY.xattr.security.capability',
  'SCHILY.xattr.',
  'GNU.sparse.major',
  'GNU.sparse.minor',
  'GNU.sparse.realsize',
  'GNU.sparse.map',
  'GNU.sparse.size',
);
const paxValue = fc.oneof(name, fc.constantFrom('0', '1', '-5', '1e9', '99999999999999999999', '0,1,5,2', 'y', '/etc'));

interface Member {
  readonly name: string;
  readonly type: string;
  readonly target: string;
  readonly mode: string;
  readonly uid: string;
  readonly device: string;
  readonly content: string;
  /** Instead of the true size of the content. */
  readonly size: number | undefined;
  readonly pax: ReadonlyArray<readonly [string, string]>;
}

const member: fc.Arbitrary<Member> = fc.record({
  name,
  type: fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom('0', '2', '5', '0', '2', '0', '5', '3', '6', '1') },
    { weight: 1, arbitrary: fc.constantFrom('3', '4', '6', '7', 'S', 'x', 'g', 'L', 'K', 'V', '\0', 'D') },
  ),
  target,
  mode: number,
  uid: number,
  device: number,
  content: fc.oneof(fc.constant(''), fc.string({ maxLength: 700 })),
  size: fc.oneof(
    { weight: 80, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(0, 1, 5000, 2 ** 32, 8 ** 11 - 1) },
  ),
  pax: fc.oneof(
    { weight: 10, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.tuple(paxKey, paxValue), { maxLength: 4 }) },
  ),
});

/** What somebody does to the bytes afterwards. */
type Damage =
  | { readonly kind: 'none' }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'flip'; readonly at: number; readonly by: number }
  | { readonly kind: 'junk'; readonly bytes: Uint8Array };

const damage: fc.Arbitrary<Damage> = fc.oneof(
  { weight: 40, arbitrary: fc.constant<Damage>({ kind: 'none' }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('cut' as const), at: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('flip' as const),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      by: fc.integer({ min: 1, max: 255 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('junk' as const), bytes: fc.uint8Array({ maxLength: 600 }) }) },
);

export interface HostileLayer {
  readonly members: readonly Member[];
  readonly compression: 'none' | 'gzip' | 'zstd';
  /** Before compression, and after. */
  readonly inner: Damage;
  readonly outer: Damage;
  readonly hasEnd: boolean;
}

export const hostileLayer: fc.Arbitrary<HostileLayer> = fc.record({
  members: fc.array(member, { maxLength: 8 }),
  compression: fc.constantFrom('none', 'gzip', 'zstd'),
  inner: damage,
  outer: damage,
  hasEnd: fc.boolean(),
});

/** The bytes of a layer, and of what they are before compression. */
export function layerBytes(layer: HostileLayer, outside: string): { readonly blob: Buffer; readonly diffId: string } {
  const blocks = layer.members.map((each) => memberBytes(each, outside));
  const plain = damaged(Buffer.concat([...blocks, Buffer.alloc(layer.hasEnd ? 1024 : 0)]), layer.inner);
  const packed =
    layer.compression === 'gzip' ? gzipSync(plain) : layer.compression === 'zstd' ? zstdCompressSync(plain) : plain;
  return { blob: damaged(packed, layer.outer), diffId: `sha256:${createHash('sha256').update(plain).digest('hex')}` };
}

export function damaged(bytes: Buffer, what: Damage): Buffer {
  if (what.kind === 'cut') return bytes.subarray(0, Math.floor(bytes.byteLength * what.at));
  if (what.kind === 'junk') return Buffer.concat([bytes, what.bytes]);
  if (what.kind === 'none' || bytes.byteLength === 0) return bytes;
  const changed = Buffer.from(bytes);
  const at = Math.min(bytes.byteLength - 1, Math.floor(bytes.byteLength * what.at));
  changed[at] = (changed[at] ?? 0) ^ what.by;
  return changed;
}

export { damage };

function memberBytes(member: Member, outside: string): Buffer {
  const placed = (text: string) => text.replace(OUTSIDE, outside);
  const pax = member.pax.map(([key, value]) => paxRecord(key, placed(value))).join('');
  const before = pax === '' ? Buffer.alloc(0) : block({ ...PLAIN, type: 'x', name: 'pax', content: pax });
  return Buffer.concat([before, block({ ...member, name: placed(member.name), target: placed(member.target) })]);
}

const PLAIN: Member = {
  name: 'file',
  type: '0',
  target: '',
  mode: '0000644',
  uid: '0000000',
  device: '0000000',
  content: '',
  size: undefined,
  pax: [],
};

function block({ name: itsName, type, target: link, mode, uid, device, content, size }: Member): Buffer {
  const header = Buffer.alloc(512);
  const data = Buffer.from('123456'.includes(type) ? '' : content); // these have none
  header.write(itsName, 0, 100, 'latin1');
  header.write(mode, 100, 8, 'latin1');
  header.write(uid, 108, 8, 'latin1');
  header.write('0000000', 116, 8, 'latin1');
  header.write((size ?? data.byteLength).toString(8).padStart(11, '0'), 124, 12, 'latin1');
  header.write('00000000005', 136, 12, 'latin1');
  header.write(' '.repeat(8), 148, 8, 'latin1');
  header.write(type, 156, 1, 'latin1');
  header.write(link, 157, 100, 'latin1');
  header.write('ustar\u000000', 257, 8, 'latin1');
  header.write(device, 329, 8, 'latin1');
  header.write(device, 337, 8, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0`, 148, 8, 'latin1');
  return Buffer.concat([header, data, Buffer.alloc((512 - (data.byteLength % 512)) % 512)]);
}

function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  const length = rest + String(rest + String(rest).length).length;
  return `${length} ${key}=${value}\n`;
}
