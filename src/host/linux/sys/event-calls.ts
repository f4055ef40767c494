/** Descriptors that report events: epoll(7), eventfd(2), inotify(7), pidfd_open(2). */
import { closeSync } from 'node:fs';
import { declareCall, declareNumbered, layout } from './ffi.ts';
import { SystemCallError } from './system-call-error.ts';

const CLOSE_ON_EXEC = 0o2000000;
const NON_BLOCKING = 0o4000;
const EPOLL_CTL_ADD = 1;
const PIDFD_OPEN = 434;

const epollCreate = declareCall<[flags: number]>('int epoll_create1(int flags)');
const epollControl = declareCall<[epoll: number, operation: number, fd: number, event: Uint8Array]>(
  'int epoll_ctl(int epoll, int operation, int fd, const uint8_t *event)',
);
const eventfd = declareCall<[count: number, flags: number]>('int eventfd(unsigned int count, int flags)');
const inotifyInit = declareCall<[flags: number]>('int inotify_init1(int flags)');
const inotifyAddWatch = declareCall<[fd: number, path: string, mask: number]>(
  'int inotify_add_watch(int fd, const char *path, uint32_t mask)',
  (_fd, path) => path,
);
const pidfdOpen = declareNumbered<[pid: number, flags: number]>(
  'pidfd_open',
  PIDFD_OPEN,
  ['int', 'unsigned int'],
  (pid) => pid,
);

/** A new epoll descriptor that is ready when `fd` has one of the events. Hang-ups and errors are always among them. */
export function openEpoll(fd: number, events: number): number {
  const epoll = epollCreate(CLOSE_ON_EXEC);
  try {
    const event = Buffer.alloc(layout.epollEventSize);
    event.writeUInt32LE(events);
    epollControl(epoll, EPOLL_CTL_ADD, fd, event);
    return epoll;
  } catch (error) {
    closeSync(epoll);
    throw error;
  }
}

/** A new non-blocking event counter: a read returns the count, eight bytes, and resets it. */
export function openEventfd(): number {
  return eventfd(0, NON_BLOCKING | CLOSE_ON_EXEC);
}

/** A new non-blocking inotify descriptor that watches one path. */
export function openInotify(path: string, mask: number): number {
  const fd = inotifyInit(NON_BLOCKING | CLOSE_ON_EXEC);
  try {
    inotifyAddWatch(fd, path, mask);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** A descriptor that is ready when the process has ended; `undefined`: it has ended and its parent has collected it. */
export function openPidfd(pid: number): number | undefined {
  try {
    return pidfdOpen(pid, 0);
  } catch (error) {
    if (error instanceof SystemCallError && error.code === 'ESRCH') return undefined;
    throw error;
  }
}
