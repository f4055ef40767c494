import { closeSync, openSync, readSync } from 'node:fs';
import { errnoCode } from '../sys/errno-code.ts';

/** Kernel files are far shorter; a single read is consistent. */
const buffer = Buffer.alloc(64 * 1024);

/**
 * The text of a file that the kernel generates, such as those of cgroups. Synchronous: there is no disk to wait for, and
 * 10 µs are ten times less than the thread pool takes. `undefined` when it does not exist or is removed meanwhile.
 */
export function readKernelFile(path: string): string | undefined {
  try {
    const fd = openSync(path, 'r');
    try {
      return buffer.toString('latin1', 0, readSync(fd, buffer));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    // ENODEV: the cgroup was removed meanwhile. EOPNOTSUPP: the file exists, but the kernel feature is disabled.
    if (['ENOENT', 'ENOTDIR', 'ENODEV', 'EOPNOTSUPP'].includes(errnoCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** A file with one number; `undefined` for `max`, for version 1's largest number, and for a missing file. */
export function readNumber(path: string): number | undefined {
  const number = Number.parseInt(readKernelFile(path) ?? '', 10);
  return Number.isNaN(number) || number >= UNLIMITED ? undefined : number;
}

/** The same for nanosecond counters, which exceed a double. */
export function readBigInt(path: string): bigint | undefined {
  const text = readKernelFile(path)?.trim();
  return text && /^\d+$/.test(text) ? BigInt(text) : undefined;
}

/** Version 1 shows 2⁶³ rounded down to a page for "no limit"; no machine has a thousandth of that. */
const UNLIMITED = 2 ** 60;

/** Values by name. */
export type Figures = Pick<ReadonlyMap<string, string>, 'get' | 'has'>;

export const NO_FIGURES: Figures = new Map();

/** Lines of `name number`. Few of many lines are read, so they are found by a search and not parsed. */
export function readFigures(path: string): Figures {
  const text = `\n${readKernelFile(path) ?? ''}`;
  const get = (name: string): string | undefined => {
    const at = text.indexOf(`\n${name} `);
    if (at === -1) return undefined;
    const end = text.indexOf('\n', at + 1);
    return text.slice(at + name.length + 2, end === -1 ? undefined : end);
  };
  return { get, has: (name) => get(name) !== undefined };
}

export function figure(figures: Figures, name: string): number {
  return Number(figures.get(name) ?? 0);
}

export function bigFigure(figures: Figures, name: string): bigint {
  return BigInt(figures.get(name) ?? 0);
}

/** A file with one number per line. */
export function readNumbers(path: string): readonly number[] {
  return (readKernelFile(path) ?? '').split('\n').filter(Boolean).map(Number);
}
