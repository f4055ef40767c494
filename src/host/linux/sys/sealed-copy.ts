import { closeSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import koffi from 'koffi';

const libc = koffi.load('libc.so.6');
const memfdCreate = libc.func('int memfd_create(const char *name, unsigned int flags)');
const control = libc.func('fcntl', 'int', ['int', 'int', 'int']);

const CLOSE_ON_EXEC = 1;
const ALLOW_SEALING = 2;
const EXECUTABLE = 0x10; // kernels before 6.3 do not know it, and need not be told
const F_ADD_SEALS = 1033;
/** Nobody writes, grows, shrinks, or adds to these. */
const ALL_SEALS = 0xf;

interface Copy {
  readonly fd: number;
  /** Of the file that it is a copy of. */
  readonly stamp: string;
}

const copies = new Map<string, Copy>();

/**
 * Where to run a program from so that nobody can write to it, not even one in a container that finds it by `/proc/PID/exe`.
 * OCI runtimes look whether they run so, and otherwise make a copy and start a second time. Kept until the program changes.
 * The program itself where such a copy cannot be.
 */
export function sealedCopy(program: string): string {
  const { ino, mtimeMs, size } = statSync(program, { throwIfNoEntry: false }) ?? {};
  if (ino === undefined) return program;
  const stamp = `${ino} ${mtimeMs} ${size}`;
  const known = copies.get(program);
  if (known?.stamp === stamp) return pathOf(known);
  if (known) closeSync(known.fd);
  copies.delete(program);
  const fd = newCopy(program);
  if (fd === undefined) return program;
  copies.set(program, { fd, stamp });
  return pathOf({ fd });
}

/** The new process has our descriptors until it runs the program. */
function pathOf({ fd }: Pick<Copy, 'fd'>): string {
  return `/proc/self/fd/${fd}`;
}

function newCopy(program: string): number | undefined {
  const bytes = readFileSync(program);
  if (bytes.toString('latin1', 0, 4) !== '\x7fELF') return undefined; // a script's interpreter could not open it
  const name = posix.basename(program);
  let fd = memfdCreate(name, CLOSE_ON_EXEC | ALLOW_SEALING | EXECUTABLE);
  if (fd === -1) fd = memfdCreate(name, CLOSE_ON_EXEC | ALLOW_SEALING);
  if (fd === -1) return undefined;
  writeFileSync(fd, bytes);
  if (control(fd, F_ADD_SEALS, ALL_SEALS) !== -1) return fd;
  closeSync(fd);
  return undefined;
}
