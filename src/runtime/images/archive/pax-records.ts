import { fileNameOf } from '../../../host/file-name.ts';
import { decimal, type PaxSparse } from './sparse-map.ts';
import { TarError } from './tar-header.ts';

const XATTR = 'SCHILY.xattr.';
const SPARSE = 'GNU.sparse.';

/** What a pax header says of the member after it; what is absent stands in the member's own header. */
export interface PaxFields {
  readonly path?: string;
  readonly linkPath?: string;
  readonly size?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly modifiedSeconds?: number;
  readonly xattrs?: ReadonlyMap<string, Uint8Array>;
  readonly sparse?: PaxSparse;
}

/** Records are `LENGTH KEY=VALUE\n`, the length counting itself; values may hold any byte. Throws a `TarError`. */
export function parsePaxRecords(data: Uint8Array): PaxFields {
  const values = new Map<string, Uint8Array>();
  /** Its first version told each part in records of the same names. */
  const sparsePairs: number[] = [];
  for (let rest = data; rest.byteLength > 0; ) {
    const space = rest.indexOf(0x20);
    const digits = fileNameOf(rest.subarray(0, Math.max(0, space)));
    const length = /^[1-9]\d{0,8}$/.test(digits) ? Number(digits) : 0;
    const record = rest.subarray(space + 1, length);
    const equals = record.indexOf(0x3d);
    if (length > rest.byteLength || equals < 1 || record.at(-1) !== 0x0a) throw new TarError('invalid pax record');
    const key = fileNameOf(record.subarray(0, equals));
    values.set(key, record.slice(equals + 1, -1));
    if (key === `${SPARSE}offset` || key === `${SPARSE}numbytes`) sparsePairs.push(decimalOf(values, key));
    rest = rest.subarray(length);
  }
  return { ...fieldsOf(values), ...sparseOf(values, sparsePairs) };
}

function sparseOf(
  values: ReadonlyMap<string, Uint8Array>,
  pairs: readonly number[],
): Pick<PaxFields, 'path' | 'sparse'> {
  if (![...values.keys()].some((key) => key.startsWith(SPARSE))) return {};
  const path = textOf(values, `${SPARSE}name`);
  const size = decimalOf(values, values.has(`${SPARSE}realsize`) ? `${SPARSE}realsize` : `${SPARSE}size`);
  const version = `${textOf(values, `${SPARSE}major`) ?? '0'}.${textOf(values, `${SPARSE}minor`) ?? '0'}`;
  if (!['0.0', '0.1', '1.0'].includes(version)) throw new TarError(`unsupported version ${version} of a sparse file`);
  const list = textOf(values, `${SPARSE}map`)?.split(',').map(decimal);
  const sparse = version === '1.0' ? { size } : { size, map: list ?? pairs };
  return { ...(path === undefined ? {} : { path }), sparse };
}

function decimalOf(values: ReadonlyMap<string, Uint8Array>, key: string): number {
  return decimal(textOf(values, key) ?? '');
}

function fieldsOf(values: ReadonlyMap<string, Uint8Array>): PaxFields {
  const xattrs = [...values].filter(([key]) => key.startsWith(XATTR));
  const path = textOf(values, 'path');
  const linkPath = textOf(values, 'linkpath');
  const size = numberOf(values, 'size');
  const uid = numberOf(values, 'uid');
  const gid = numberOf(values, 'gid');
  const modifiedSeconds = numberOf(values, 'mtime');
  return {
    ...(path === undefined ? {} : { path }),
    ...(linkPath === undefined ? {} : { linkPath }),
    ...(size === undefined ? {} : { size }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    ...(modifiedSeconds === undefined ? {} : { modifiedSeconds }),
    ...(xattrs.length === 0 ? {} : { xattrs: new Map(xattrs.map(([key, value]) => [key.slice(XATTR.length), value])) }),
  };
}

/** An empty value takes a former one back. */
function textOf(values: ReadonlyMap<string, Uint8Array>, key: string): string | undefined {
  const value = values.get(key);
  return value === undefined || value.byteLength === 0 ? undefined : fileNameOf(value);
}

function numberOf(values: ReadonlyMap<string, Uint8Array>, key: string): number | undefined {
  const told = textOf(values, key);
  if (told === undefined) return undefined;
  const value = Number(told);
  if (!/^-?\d+(\.\d*)?$/.test(told) || Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new TarError(`invalid pax record: ${key} is ${JSON.stringify(told)}`);
  }
  return value;
}
