import { closeSync, openSync, readSync } from 'node:fs';
import { errnoCode } from '../sys/errno-code.ts';

/** A kernel file of figures is far shorter; one read gives a consistent whole. */
const buffer = Buffer.alloc(64 * 1024);

/**
 * The text of a file that the kernel makes up while it is read, such as those of cgroups: nothing waits for a disk, and 10 µs
 * here are ten times less than a round through the thread pool. `undefined` when it is not there, or goes while it is read.
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
    // ENODEV: the cgroup was removed meanwhile. EOPNOTSUPP: the kernel has the file, but the figures are switched off.
    if (['ENOENT', 'ENOTDIR', 'ENODEV', 'EOPNOTSUPP'].includes(errnoCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** A file of one number; `undefined` for `max`, for the largest number that version 1 uses instead, and when it is missing. */
export function readNumber(path: string): number | undefined {
  const number = Number.parseInt(readKernelFile(path) ?? '', 10);
  return Number.isNaN(number) || number >= UNLIMITED ? undefined : number;
}

/** The same for counters of nanoseconds, which outgrow a double. */
export function readBigInt(path: string): bigint | undefined {
  const text = readKernelFile(path)?.trim();
  return text && /^\d+$/.test(text) ? BigInt(text) : undefined;
}

/** Version 1 writes 2⁶³ rounded down to a page for "no limit"; no machine has a thousandth of that. */
const UNLIMITED = 2 ** 60;

/** Lines of `name number`. */
export function readFigures(path: string): ReadonlyMap<string, string> {
  const lines = (readKernelFile(path) ?? '').split('\n');
  return new Map(
    lines.flatMap((line) => {
      const space = line.indexOf(' ');
      return space === -1 ? [] : [[line.slice(0, space), line.slice(space + 1)] as const];
    }),
  );
}

export function figure(figures: ReadonlyMap<string, string>, name: string): number {
  return Number(figures.get(name) ?? 0);
}

export function bigFigure(figures: ReadonlyMap<string, string>, name: string): bigint {
  return BigInt(figures.get(name) ?? 0);
}

/** Process numbers, one a line. */
export function readNumbers(path: string): readonly number[] {
  return (readKernelFile(path) ?? '').split('\n').filter(Boolean).map(Number);
}
