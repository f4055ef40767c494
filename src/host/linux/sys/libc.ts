import koffi from 'koffi';

/** A system call of libc that answers -1 on failure; rejects with the errno name. */
type Call<Args extends readonly unknown[]> = (...args: Args) => Promise<void>;

/** A failed system call. */
export class SystemCallError extends Error {
  override readonly name = 'SystemCallError';
  /** `EINVAL`, … */
  readonly code: string;

  constructor(call: string, code: string) {
    super(`${call}: ${code}`);
    this.code = code;
  }
}

const libc = koffi.load('libc.so.6');

/** mount(2). It runs on a thread of Node's pool: nothing that may hang for long (a network file system) belongs here. */
export const mount: Call<[source: string, target: string, type: string | null, flags: number, data: string | null]> =
  asyncCall(
    'int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)',
  );

/** umount2(2). */
export const umount2: Call<[target: string, flags: number]> = asyncCall('int umount2(const char *target, int flags)');

/** flock(2). It runs on a thread of Node's pool until the lock is ours. */
export const flock: Call<[descriptor: number, operation: number]> = asyncCall('int flock(int fd, int operation)');

/** _exit(2): no other thread is waited for. */
export const exitNow: (exitCode: number) => void = libc.func('void _exit(int status)');

const AT_FDCWD = -100;
const RENAME_NOREPLACE = 1;

const renameat2: Call<[fromFolder: number, from: string, toFolder: number, to: string, flags: number]> = asyncCall(
  'int renameat2(int olddirfd, const char *oldpath, int newdirfd, const char *newpath, unsigned int flags)',
);

/** renameat2(2) that fails with EEXIST when `to` is taken; EINVAL: the file system knows no such rename. */
export const renameNoReplace: Call<[from: string, to: string]> = (from, to) =>
  renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

function asyncCall<Args extends readonly unknown[]>(prototype: string): Call<Args> {
  const native = libc.func(prototype);
  return (...args) =>
    new Promise((resolve, reject) => {
      native.async(...args, (error: unknown, result: number) => {
        if (error) reject(error);
        // koffi carries the thread's errno into the callback; any later call of koffi overwrites it.
        else if (result === -1) reject(new SystemCallError(native.info.name, errnoName(koffi.errno())));
        else resolve();
      });
    });
}

/** `ENOENT` for 2. */
export function errnoName(number: number): string {
  const found = Object.entries(koffi.os.errno).find(([, value]) => value === number);
  return found?.[0] ?? `errno ${number}`;
}
