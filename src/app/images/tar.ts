/** A member of an archive. The path has no leading or trailing slash; the owner is root. */
export type TarMember =
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly data: Uint8Array }
  | { readonly kind: 'directory'; readonly path: string; readonly mode: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

const BLOCK = 512;

/**
 * Writes a POSIX archive: ustar, with a pax record where a name is too long for it. Times are 1970 and nothing depends on
 * this machine, so the same members give the same bytes.
 */
export function tarArchive(members: readonly TarMember[]): Uint8Array {
  const end = new Uint8Array(2 * BLOCK);
  return new Uint8Array(Buffer.concat([...members.flatMap(memberBlocks), end]));
}

/** https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html, "ustar Header Block" and "pax Header Block". */
const FIELDS = { path: 100, linkTarget: 100 } as const;
type TypeFlag = '0' | '2' | '5' | 'x';

interface Header {
  readonly path: string;
  readonly mode: number;
  readonly size: number;
  readonly type: TypeFlag;
  readonly linkTarget: string;
}

function memberBlocks(member: TarMember): readonly Uint8Array[] {
  switch (member.kind) {
    case 'file': {
      const { path, mode, data } = member;
      return [...headerBlocks({ path, mode, size: data.byteLength, type: '0', linkTarget: '' }), ...padded(data)];
    }
    case 'directory':
      return headerBlocks({ path: `${member.path}/`, mode: member.mode, size: 0, type: '5', linkTarget: '' });
    case 'link':
      return headerBlocks({ path: member.path, mode: 0o777, size: 0, type: '2', linkTarget: member.target });
  }
}

/** A name in the pax record before a header takes precedence over the name in the header. */
function headerBlocks(header: Header): readonly Uint8Array[] {
  const long = [
    ...(Buffer.byteLength(header.path) > FIELDS.path ? [paxRecord('path', header.path)] : []),
    ...(Buffer.byteLength(header.linkTarget) > FIELDS.linkTarget ? [paxRecord('linkpath', header.linkTarget)] : []),
  ];
  if (long.length === 0) return [headerBlock(header)];
  const records = Buffer.from(long.join(''));
  const pax = { path: 'pax', mode: 0o644, size: records.byteLength, type: 'x', linkTarget: '' } as const;
  return [headerBlock(pax), ...padded(records), headerBlock(header)];
}

/** The length at the start includes its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  const guess = bytes + String(bytes).length;
  return `${bytes + String(guess).length}${rest}`;
}

function headerBlock({ path, mode, size, type, linkTarget }: Header): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  block.write(path, 0, FIELDS.path);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108); // uid
  block.write(octal(0, 7), 116); // gid
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136); // modification time
  block.write(' '.repeat(8), 148); // the checksum counts its own field as spaces
  block.write(type, 156);
  block.write(linkTarget, 157, FIELDS.linkTarget);
  block.write('ustar\u000000', 257);
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${octal(checksum, 6)}\u0000`, 148);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

function padded(data: Uint8Array): readonly Uint8Array[] {
  return [data, new Uint8Array((BLOCK - (data.byteLength % BLOCK)) % BLOCK)];
}
