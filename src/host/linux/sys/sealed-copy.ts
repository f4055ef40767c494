import { closeSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import { addSeals, memfdCreate } from './descriptor-calls.ts';
import { SystemCallError } from './system-call-error.ts';

const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const MFD_EXEC = 0x10; // kernels before 6.3 reject it, and do not need it
/** No writing, growing, shrinking, and no further seals. */
const ALL_SEALS = 0xf;

interface SealedCopy {
  readonly fd: number;
  /** Inode, modification time and size of the original. */
  readonly stamp: string;
}

const copies = new Map<string, SealedCopy>();

/**
 * The path of a copy of a program in memory that cannot be written to, not even by a container that finds it by
 * `/proc/PID/exe`. OCI runtimes check whether they run from such a copy, and otherwise make one and start a second time. The
 * copy is kept until the program changes. Returns the program's own path where a copy cannot be made.
 */
export function sealedCopy(program: string): string {
  const { ino, mtimeMs, size } = statSync(program, { throwIfNoEntry: false }) ?? {};
  if (ino === undefined) return program;
  const stamp = `${ino} ${mtimeMs} ${size}`;
  const known = copies.get(program);
  if (known?.stamp === stamp) return executablePath(known.fd);
  if (known) closeSync(known.fd);
  copies.delete(program);
  const fd = newCopy(program);
  if (fd === undefined) return program;
  copies.set(program, { fd, stamp });
  return executablePath(fd);
}

/** The new process has our descriptors until it runs the program. */
function executablePath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

function newCopy(program: string): number | undefined {
  const bytes = readFileSync(program);
  if (bytes.toString('latin1', 0, 4) !== '\x7fELF') return undefined; // a script's interpreter could not open it
  const fd = newMemoryFile(posix.basename(program));
  if (fd === undefined) return undefined;
  try {
    writeFileSync(fd, bytes);
    addSeals(fd, ALL_SEALS);
    return fd;
  } catch (error) {
    closeSync(fd);
    if (error instanceof SystemCallError) return undefined;
    throw error;
  }
}

function newMemoryFile(name: string): number | undefined {
  for (const flags of [MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC, MFD_CLOEXEC | MFD_ALLOW_SEALING]) {
    try {
      return memfdCreate(name, flags);
    } catch {
      // Without `MFD_EXEC`, or not at all.
    }
  }
  return undefined;
}
