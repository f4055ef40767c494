import { declareCall } from './ffi.ts';

/** waitpid(2); `status` receives the wait status. Returns 0 with `WNOHANG` when the child has not ended. */
export const waitpid = declareCall<[pid: number, status: number[], options: number]>(
  'int waitpid(int pid, _Out_ int *status, int options)',
  (pid) => pid,
);

/** _exit(2): ends the process without waiting for its other threads. */
export const exitNow = declareCall<[exitCode: number]>('void _exit(int status)');
