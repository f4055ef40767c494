import { TarError } from './tar-header.ts';

const XATTR = 'SCHILY.xattr.';
const text = new TextDecoder();

/** What a pax header says of the member after it; what is absent stands in the member's own header. */
export interface PaxFields {
  readonly path?: string;
  readonly linkPath?: string;
  readonly size?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly modifiedSeconds?: number;
  readonly xattrs?: ReadonlyMap<string, Uint8Array>;
}

/** Records are `LENGTH KEY=VALUE\n`, the length counting itself; values may hold any byte. Throws a `TarError`. */
export function parsePaxRecords(data: Uint8Array): PaxFields {
  const values = new Map<string, Uint8Array>();
  for (let rest = data; rest.byteLength > 0; ) {
    const space = rest.indexOf(0x20);
    const digits = text.decode(rest.subarray(0, Math.max(0, space)));
    const length = /^[1-9]\d{0,8}$/.test(digits) ? Number(digits) : 0;
    const record = rest.subarray(space + 1, length);
    const equals = record.indexOf(0x3d);
    if (length > rest.byteLength || equals < 1 || record.at(-1) !== 0x0a) throw new TarError('invalid pax record');
    values.set(text.decode(record.subarray(0, equals)), record.slice(equals + 1, -1));
    rest = rest.subarray(length);
  }
  return fieldsOf(values);
}

function fieldsOf(values: ReadonlyMap<string, Uint8Array>): PaxFields {
  const sparse = [...values.keys()].find((key) => key.startsWith('GNU.sparse.'));
  if (sparse) throw new TarError('sparse files in archives are not supported');
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
  return value === undefined || value.byteLength === 0 ? undefined : text.decode(value);
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
