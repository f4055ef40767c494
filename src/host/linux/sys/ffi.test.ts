import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declareCall, declareErrnoCall, declareNumbered } from './ffi.ts';

const unlink = declareCall<[path: string]>('int unlink(const char *path)', (path) => path);
const pidfdOpen = declareNumbered<[pid: number, flags: number]>('pidfd_open', 434, ['int', 'unsigned int']);
const fallocate = declareErrnoCall<[fd: number, offset: number, length: number]>(
  'int posix_fallocate(int fd, long offset, long len)',
);

test('declareCall() throws the call, the subject and the errno name', () => {
  const expected = { name: 'SystemCallError', call: 'unlink', code: 'ENOENT', message: 'unlink /no/such: ENOENT' };
  assert.throws(() => unlink('/no/such'), expected);
});

test('declareCall() rejects in the same way on a thread of the pool', async () => {
  await assert.rejects(unlink.async('/no/such'), {
    call: 'unlink',
    code: 'ENOENT',
    message: 'unlink /no/such: ENOENT',
  });
});

test('declareNumbered() throws the name of the system call, not `syscall`', () => {
  assert.throws(() => pidfdOpen(-1, 0), { call: 'pidfd_open', message: 'pidfd_open: EINVAL' });
});

test('declareErrnoCall() takes the errno from the result', () => {
  assert.throws(() => fallocate(-1, 0, 1), { call: 'posix_fallocate', code: 'EBADF' });
});
