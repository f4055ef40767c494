import { isId } from '../../base/numeric-id.ts';

/** /etc/passwd and /etc/group of an image. Invalid lines are skipped, as in the C library. */

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
    const ids = [parseAccountId(uid), parseAccountId(gid)] as const;
    return name === '' || ids[0] === undefined || ids[1] === undefined ? [] : [{ name, uid: ids[0], gid: ids[1] }];
  });
}

export function parseGroups(text: string): Group[] {
  return rows(text).flatMap(([name = '', , id, members = '']) => {
    const gid = parseAccountId(id);
    return name === '' || gid === undefined ? [] : [{ name, gid, members: members.split(',').filter((m) => m !== '') }];
  });
}

/** Returns `undefined` for numbers beyond the kernel's limit. */
function parseAccountId(text = ''): number | undefined {
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
