import { declareCall } from './ffi.ts';

/** unshare(2): moves the calling thread to new namespaces. */
export const unshare = declareCall<[flags: number]>('int unshare(int flags)');

/** setns(2): moves the calling thread to another namespace. */
export const setns = declareCall<[fd: number, type: number]>('int setns(int fd, int nstype)');

const sethostnameBytes = declareCall<[name: string, bytes: number]>('int sethostname(const char *name, size_t len)');

/** sethostname(2): of the calling thread's UTS namespace. */
export function sethostname(name: string): void {
  sethostnameBytes(name, Buffer.byteLength(name));
}
