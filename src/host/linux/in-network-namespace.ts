import { closeSync, openSync } from 'node:fs';
import koffi from 'koffi';
import { NetworkError } from '../network.ts';

const CLONE_NEWNET = 0x40000000;
const [AF_INET, AF_INET6] = [2, 10];
const SOCK_STREAM_CLOEXEC_NONBLOCK = 1 | 0o2000000 | 0o4000;

const libc = koffi.load('libc.so.6');
const setns: (fd: number, kind: number) => number = libc.func('int setns(int fd, int nstype)');
const socket: (family: number, type: number, protocol: number) => number = libc.func(
  'int socket(int domain, int type, int protocol)',
);

let home: number | undefined;

/**
 * Does `work` in the network that `file` holds; throws what open(2) throws for a file that is not there. The thread goes
 * there and comes back before anything else can run on it, so `work` must be synchronous and must start nothing that
 * goes on: what Node.js does on its own threads, and what other code does later, never notices.
 */
export function inNetworkNamespace<T>(file: string, work: () => T): T {
  home ??= openSync('/proc/thread-self/ns/net', 'r');
  const there = openSync(file, 'r');
  try {
    if (setns(there, CLONE_NEWNET) === -1) throw new NetworkError(errnoName(), `enter the network of ${file}`);
    try {
      return work();
    } finally {
      // With the descriptor open this cannot fail; a process that works on in a pod's network would be worse than none.
      if (setns(home, CLONE_NEWNET) === -1) process.abort();
    }
  } finally {
    closeSync(there);
  }
}

/** A TCP socket that is not connected yet. It belongs to the network in which it was made, wherever it is used. */
export function newSocket(family: 'IPv4' | 'IPv6'): number {
  const fd = socket(family === 'IPv4' ? AF_INET : AF_INET6, SOCK_STREAM_CLOEXEC_NONBLOCK, 0);
  if (fd === -1) throw new NetworkError(errnoName(), `socket: ${errnoName()}`);
  return fd;
}

function errnoName(): string {
  const number = koffi.errno();
  return Object.entries(koffi.os.errno).find(([, value]) => value === number)?.[0] ?? `errno ${number}`;
}
