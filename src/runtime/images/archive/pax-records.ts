import { fileNameOf } from '../../../host/file-name.ts';
import { decimal, type PaxSparse } from './sparse-map.ts';
import { TarError } from './tar-header.ts';

const XATTR = 'SCHILY.xattr.';
const SPARSE = 'GNU.sparse.';

/** The fields of a pax header for the next member. Absent fields come from the member's own header. */
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

/**
 * Parses records of the form `LENGTH KEY=VALUE\n`. The length includes itself; values may hold any byte. Throws
 * `TarError`.
 */
export function parsePaxRecords(data: Uint8Array): PaxFields {
  const values = new Map<string, Uint8Array>();
  /** Sparse format 0.0 repeats the same record names for each extent. */
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
    if (key === `${SPARSE}offset` || key === `${SPARSE}numbytes`) sparsePairs.push(decimalValue(values, key));
    rest = rest.subarray(length);
  }
  return { ...parseFields(values), ...parseSparseFields(values, sparsePairs) };
}

function parseSparseFields(
  values: ReadonlyMap<string, Uint8Array>,
  pairs: readonly number[],
): Pick<PaxFields, 'path' | 'sparse'> {
  if (![...values.keys()].some((key) => key.startsWith(SPARSE))) return {};
  const path = stringValue(values, `${SPARSE}name`);
  const size = decimalValue(values, values.has(`${SPARSE}realsize`) ? `${SPARSE}realsize` : `${SPARSE}size`);
  const version = `${stringValue(values, `${SPARSE}major`) ?? '0'}.${stringValue(values, `${SPARSE}minor`) ?? '0'}`;
  if (!['0.0', '0.1', '1.0'].includes(version)) throw new TarError(`unsupported version ${version} of a sparse file`);
  const list = stringValue(values, `${SPARSE}map`)?.split(',').map(decimal);
  const sparse = version === '1.0' ? { size } : { size, map: list ?? pairs };
  return { ...(path === undefined ? {} : { path }), sparse };
}

function decimalValue(values: ReadonlyMap<string, Uint8Array>, key: string): number {
  return decimal(stringValue(values, key) ?? '');
}

function parseFields(values: ReadonlyMap<string, Uint8Array>): PaxFields {
  const xattrs = [...values].filter(([key]) => key.startsWith(XATTR));
  const path = stringValue(values, 'path');
  const linkPath = stringValue(values, 'linkpath');
  const size = numberValue(values, 'size');
  const uid = numberValue(values, 'uid');
  const gid = numberValue(values, 'gid');
  const modifiedSeconds = numberValue(values, 'mtime');
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

/** An empty value cancels an earlier one. */
function stringValue(values: ReadonlyMap<string, Uint8Array>, key: string): string | undefined {
  const value = values.get(key);
  return value === undefined || value.byteLength === 0 ? undefined : fileNameOf(value);
}

function numberValue(values: ReadonlyMap<string, Uint8Array>, key: string): number | undefined {
  const text = stringValue(values, key);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^-?\d+(\.\d*)?$/.test(text) || Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new TarError(`invalid pax record: ${key} is ${JSON.stringify(text)}`);
  }
  return value;
}
