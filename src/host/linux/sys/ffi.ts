/**
 * The foreign function interface to glibc. Only this folder imports koffi. Each libc function is declared once, in the file
 * of its subject, and every failed call throws a `SystemCallError`.
 *
 * Loading koffi takes some milliseconds, and many commands need none of this: load this folder's modules with `import()`.
 */
import koffi, { type LibraryHandle } from 'koffi';
import { machineLayout } from './layout.ts';
import { selfTest } from './self-test.ts';
import { SystemCallError } from './system-call-error.ts';

/** A function of libc. */
export interface SystemCall<Args extends readonly unknown[]> {
  /** Makes the call on the calling thread: for calls that take microseconds. */
  (...args: Args): number;
  /** Makes the call on a thread of Node's pool; buffers among the arguments are kept alive until it is over. */
  async(...args: Args): Promise<number>;
}

/** The path or number that an error names; empty: none. */
type Subject<Args extends readonly unknown[]> = (...args: Args) => string | number;
type NativeFunction = ReturnType<LibraryHandle['func']>;

interface Declaration<Args extends readonly unknown[]> {
  readonly name: string;
  readonly load: () => NativeFunction;
  readonly subject: Subject<Args> | undefined;
  /** The errno of a failed call, or `undefined`. */
  readonly errno: (result: number) => number | undefined;
}

/** The architecture's layouts, once the foreign function interface has been checked. */
export const layout = machineLayout();

const libc = loadLibc();
const errnoNames: ReadonlyMap<number, string> = new Map(
  Object.entries(koffi.os.errno)
    .map(([name, number]) => [number, name] as const)
    .reverse(), // the first of two names of one number wins
);

function loadLibc(): LibraryHandle {
  let library: LibraryHandle;
  try {
    library = koffi.load('libc.so.6');
  } catch (error) {
    throw new Error('nodelet needs glibc: libc.so.6 cannot be loaded', { cause: error });
  }
  selfTest(library, layout);
  return library;
}

/** A function that returns -1 and sets errno when it fails: `int flock(int fd, int operation)`. */
export function declareCall<Args extends readonly unknown[]>(
  prototype: string,
  subject?: Subject<Args>,
): SystemCall<Args> {
  const load = (): NativeFunction => libc.func(prototype);
  return systemCall({ name: nameIn(prototype), load, subject, errno: errnoIfFailed });
}

/** A function that returns the errno itself: posix_spawn(3) and its like. */
export function declareErrnoCall<Args extends readonly unknown[]>(
  prototype: string,
  subject?: Subject<Args>,
): SystemCall<Args> {
  const load = (): NativeFunction => libc.func(prototype);
  return systemCall({ name: nameIn(prototype), load, subject, errno: (result) => result || undefined });
}

/** A variadic function (fcntl, ioctl) with one list of parameters. Both architectures pass these like any others. */
export function declareVariant<Args extends readonly unknown[]>(
  name: string,
  parameters: string[],
  subject?: Subject<Args>,
): SystemCall<Args> {
  return systemCall({ name, load: () => libc.func(name, 'int', parameters), subject, errno: errnoIfFailed });
}

/** A system call that older glibc has no function for. */
export function declareNumbered<Args extends readonly unknown[]>(
  name: string,
  number: number,
  parameters: string[],
  subject?: Subject<Args>,
): SystemCall<Args> {
  const load = (): NativeFunction => {
    const syscall = libc.func('syscall', 'long', ['long', ...parameters]);
    const bound = (...args: unknown[]): unknown => syscall(number, ...args);
    return Object.assign(bound, {
      async: (...args: unknown[]): unknown => syscall.async(number, ...args),
      info: syscall.info,
    });
  };
  return systemCall({ name, load, subject, errno: errnoIfFailed });
}

function systemCall<Args extends readonly unknown[]>(declaration: Declaration<Args>): SystemCall<Args> {
  const { name, load, subject, errno } = declaration;
  let loaded: NativeFunction | undefined; // parsing a prototype takes longer than most calls
  const checked = (result: number, args: Args): number => {
    const failed = errno(result);
    if (failed === undefined) return result;
    throw new SystemCallError(name, errnoName(failed), String(subject?.(...args) ?? ''));
  };
  const call = (...args: Args): number => {
    loaded ??= load();
    return checked(Number(loaded(...args)), args);
  };
  const async = (...args: Args): Promise<number> =>
    new Promise((resolve, reject) => {
      loaded ??= load();
      // koffi carries the thread's errno into the callback; any later call of koffi overwrites it. The callback refers to
      // `args`, which keeps buffers from being collected while the call goes on: koffi does not.
      loaded.async(...args, (error: unknown, result: unknown) => {
        if (error) return reject(error);
        try {
          resolve(checked(Number(result), args));
        } catch (failure) {
          reject(failure);
        }
      });
    });
  return Object.assign(call, { async });
}

function errnoIfFailed(result: number): number | undefined {
  return result === -1 ? koffi.errno() : undefined;
}

/** `ENOENT` for 2. */
function errnoName(number: number): string {
  return errnoNames.get(number) ?? `errno ${number}`;
}

/** `flock` of `int flock(int fd, int operation)`. */
function nameIn(prototype: string): string {
  return /(\w+)\(/.exec(prototype)?.[1] ?? prototype;
}
