import { isId } from '../../base/numeric-id.ts';

/** /etc/passwd and /etc/group of an image. Lines that make no sense are passed over, as the C library does. */

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

export interface Group {
  readonly name: string;
  readonly gid: number;
  readonly members: readonly string[];
}

export function parsePasswd(text: string): Account[] {
  return rows(text).flatMap(([name = '', , uid, gid]) => {
    const ids = [idOf(uid), idOf(gid)] as const;
    return name === '' || ids[0] === undefined || ids[1] === undefined ? [] : [{ name, uid: ids[0], gid: ids[1] }];
  });
}

export function parseGroups(text: string): Group[] {
  return rows(text).flatMap(([name = '', , id, members = '']) => {
    const gid = idOf(id);
    return name === '' || gid === undefined ? [] : [{ name, gid, members: members.split(',').filter((m) => m !== '') }];
  });
}

/** `undefined` for numbers that no process can have. */
function idOf(text = ''): number | undefined {
  const id = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return isId(id) ? id : undefined;
}

function rows(text: string): string[][] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(':'));
}
