import { declareCall } from './ffi.ts';

/** waitpid(2); `status` receives the wait status. Returns 0 with `WNOHANG` when the child has not ended. */
export const waitpid = declareCall<[pid: number, status: number[], options: number]>(
  'int waitpid(int pid, _Out_ int *status, int options)',
  (pid) => pid,
);

const RLIMIT_NOFILE = 7;
const setrlimit = declareCall<[resource: number, limit: Uint8Array]>(
  'int setrlimit(int resource, const uint8_t *limit)',
);

/** Sets the soft and the hard limit of open files of this process. */
export function limitOpenFiles(count: number): void {
  // struct rlimit: two unsigned longs, in the byte order of both architectures.
  const limit = new DataView(new ArrayBuffer(16));
  for (const offset of [0, 8]) limit.setBigUint64(offset, BigInt(count), true);
  setrlimit(RLIMIT_NOFILE, new Uint8Array(limit.buffer));
}

/** _exit(2): ends the process without waiting for its other threads. */
export const exitNow = declareCall<[exitCode: number]>('void _exit(int status)');
