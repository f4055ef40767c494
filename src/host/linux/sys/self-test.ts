import { statSync } from 'node:fs';
import koffi, { type LibraryHandle } from 'koffi';
import type { MachineLayout } from './layout.ts';

const AT_FDCWD = -100;
/** Present on every machine. It needs no descriptor: the process may have none left. */
const KNOWN_PATH = '/';

/**
 * Compares the foreign function interface with answers that Node.js knows, so that a wrong layout or a wrong calling
 * convention fails here with a sentence and not later with a crash or with wrong data. It takes some 100 microseconds, once a
 * thread.
 */
export function selfTest(libc: LibraryHandle, layout: MachineLayout): void {
  for (const type of ['long', 'size_t', 'void *']) expect(`the size of ${type}`, koffi.sizeof(type), 8);
  expect('getpid', libc.func('int getpid(void)')(), process.pid);

  const newfstatat = libc.func('syscall', 'long', ['long', 'int', 'const char *', 'uint8_t *', 'int']);
  const stat = Buffer.alloc(256);
  expect('fstatat', Number(newfstatat(layout.callNumbers.newfstatat, AT_FDCWD, KNOWN_PATH, stat, 0)), 0);
  const known = statSync(KNOWN_PATH, { bigint: true });
  const { dev, ino, mode, uid, gid } = layout.stat;
  expect('st_dev', stat.readBigUInt64LE(dev), known.dev);
  expect('st_ino', stat.readBigUInt64LE(ino), known.ino);
  expect('st_mode', BigInt(stat.readUInt32LE(mode)), known.mode);
  expect('st_uid', BigInt(stat.readUInt32LE(uid)), known.uid);
  expect('st_gid', BigInt(stat.readUInt32LE(gid)), known.gid);

  expect('fstatat of no path', Number(newfstatat(layout.callNumbers.newfstatat, AT_FDCWD, '', stat, 0)), -1);
  expect('errno', koffi.errno(), koffi.os.errno['ENOENT']);
}

function expect(what: string, found: unknown, known: unknown): void {
  if (found === known) return;
  throw new Error(
    `nodelet cannot make system calls on this machine (${process.arch}): ${what} is ${found} through the foreign ` +
      `function interface and ${known} through Node.js`,
  );
}
