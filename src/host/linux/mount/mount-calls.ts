import type { MountFlag, MountRequest } from '../../mounts.ts';

/** The arguments of one mount(2) call. */
export interface MountCall {
  readonly source: string;
  readonly target: string;
  readonly type: string | null;
  readonly flags: number;
  readonly data: string | null;
}

const MS_REMOUNT = 32;
const MS_BIND = 4096;
const MS_REC = 16384;
const MS_PRIVATE = 1 << 18;
const MS_SLAVE = 1 << 19;
const MS_SHARED = 1 << 20;

const ATTRIBUTES: Partial<Record<MountFlag, number>> = { readOnly: 1, noSuid: 2, noDev: 4, noExec: 8 };
const OPTIONS: Readonly<Record<string, number>> = { ro: 1, nosuid: 2, nodev: 4, noexec: 8 };
const ACTIONS: Partial<Record<MountFlag, number>> = { bind: MS_BIND, rbind: MS_BIND | MS_REC, remount: MS_REMOUNT };
const PROPAGATION: Partial<Record<MountFlag, number>> = {
  private: MS_PRIVATE,
  rprivate: MS_PRIVATE | MS_REC,
  slave: MS_SLAVE,
  rslave: MS_SLAVE | MS_REC,
  shared: MS_SHARED,
  rshared: MS_SHARED | MS_REC,
};

/**
 * The mount(2) calls of a request. The kernel ignores attributes in the call that creates a bind mount, and accepts
 * propagation flags only alone, so each may need a separate call.
 */
export function mountCalls({ source, target, type, flags = [], data }: MountRequest): MountCall[] {
  const attributes = bits(ATTRIBUTES, flags);
  const action = bits(ACTIONS, flags);
  const propagation = bits(PROPAGATION, flags);
  const plain = { source, target, type: null, data: null };

  const calls: MountCall[] = [];
  const isNewBind = (action & MS_BIND) !== 0 && (action & MS_REMOUNT) === 0;
  if (isNewBind) {
    calls.push({ ...plain, flags: action });
    if (attributes !== 0) calls.push({ ...plain, flags: MS_REMOUNT | MS_BIND | attributes });
  } else if (action !== 0 || attributes !== 0 || type !== undefined || propagation === 0) {
    calls.push({ source, target, type: type ?? null, flags: action | attributes, data: data ?? null });
  }
  if (propagation !== 0) calls.push({ ...plain, flags: propagation });
  return calls;
}

/** Adds the attributes that a new bind mount has from its source: changing others would remove them. */
export function keepingAttributes(call: MountCall, options: readonly string[]): MountCall {
  const isChangeOfBind = (call.flags & MS_REMOUNT) !== 0 && (call.flags & MS_BIND) !== 0;
  if (!isChangeOfBind) return call;
  return { ...call, flags: options.reduce((sum, option) => sum | (OPTIONS[option] ?? 0), call.flags) };
}

function bits(table: Partial<Record<MountFlag, number>>, flags: readonly MountFlag[]): number {
  return flags.reduce((sum, flag) => sum | (table[flag] ?? 0), 0);
}
